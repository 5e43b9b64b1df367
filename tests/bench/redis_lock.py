"""redis_lock.py URL COMMAND...: runs COMMAND under the lock of redis-py."""

import subprocess
import sys

import redis

with redis.Redis.from_url(sys.argv[1]).lock("redis-py", timeout=30):
    status = subprocess.run(sys.argv[2:]).returncode
sys.exit(status)
