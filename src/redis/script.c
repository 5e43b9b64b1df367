#include "redis/error.h"
#include "redis/script.h"

static bool
as_text(const struct script_form *f, const struct script *script)
{
	return f->forgotten || f->no_evalsha ||
	    (f->text_first && f->sent != script);
}

void
script_begin(struct script_form *f)
{
	f->forgotten = false;
	f->sent = NULL;
}

void
script_words(const struct script_form *f, const struct script *script,
    const char *words[2])
{
	bool text = as_text(f, script);

	words[0] = text ? "EVAL" : "EVALSHA";
	words[1] = text ? script->text : script->sha1;
}

void
script_sent(struct script_form *f, const struct script *script)
{
	if (as_text(f, script))
		f->sent = script;
	f->forgotten = false;
}

void
script_refused(struct script_form *f, const char *error)
{
	if (error_forgot_script(error))
		f->forgotten = true;
	else
		f->no_evalsha = true;
}
