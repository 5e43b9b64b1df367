"""
What stands on a terminal: the few sequences that --watch uses.  On the
alternate screen any other is an error.
"""

import re

SEQUENCE = re.compile(r"\x1b\[(\?)?([0-9;]*)([A-Za-z])")
CANCELLED = re.compile(r"(\x1b(\[\??[0-9;]*)?)?\x18")
SWITCHES = {"7": "wrap", "25": "cursor", "1049": "alternate",
            "2004": "paste"}


class Screen:
    def __init__(self, rows, columns):
        self.modes = {"wrap": True, "cursor": True, "alternate": False}
        self.aside = ([[""]], 0, 0)
        self.lines = [[""]]
        self.row = self.column = 0
        self.rest = ""
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines = [line[:columns] for line in self.lines[-rows:]]
        self.row = min(self.row, rows - 1)
        self.column = min(self.column, columns - 1)

    def text(self):
        return "\n".join("".join(c or " " for c in line).rstrip()
                         for line in self.lines)

    def feed(self, data):
        data = self.rest + data
        self.rest = ""
        at = 0
        while at < len(data):
            cancelled = CANCELLED.match(data, at)
            if cancelled:
                at = cancelled.end()
                continue
            if data[at] == "\x1b":
                found = SEQUENCE.match(data, at)
                if found:
                    self.sequence(*found.groups())
                    at = found.end()
                    continue
                if len(data) - at < 12:
                    self.rest = data[at:]
                    return
                self.odd(data[at:at + 12])
            self.put(data[at])
            at += 1

    def newline(self):
        self.row += 1
        if self.row == self.rows:
            self.row -= 1
            self.lines = self.lines[1:]

    def line(self):
        while len(self.lines) <= self.row:
            self.lines.append([])
        return self.lines[self.row]

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.newline()
        elif char == "\b":
            self.column = max(self.column - 1, 0)
        elif char >= " ":
            if self.column == self.columns:
                if self.modes["wrap"]:
                    self.newline()
                    self.column = 0
                else:
                    self.column -= 1
            line = self.line()
            line.extend([""] * (self.column + 1 - len(line)))
            line[self.column] = char
            self.column += 1
        else:
            self.odd(char)

    def odd(self, what):
        if self.modes["alternate"]:
            raise ValueError("%r is not for a terminal" % what)

    def sequence(self, private, numbers, final):
        if private:
            name = SWITCHES.get(numbers)
            if not name:
                self.odd(numbers + final)
            on = final == "h"
            if name == "alternate" and on != self.modes[name]:
                here = (self.lines, self.row, self.column)
                self.lines, self.row, self.column = self.aside
                self.aside = here
            self.modes[name] = on
        elif final == "H" and not numbers:
            self.row = self.column = 0
        elif final == "K" and not numbers:
            # With the cursor behind the last column that one is cleared.
            del self.line()[min(self.column, self.columns - 1):]
        elif final == "J" and not numbers:
            del self.line()[self.column:]
            del self.lines[self.row + 1:]
        elif final == "J" and numbers == "2":
            self.lines = [[]]
        elif final != "m":
            self.odd(numbers + final)
