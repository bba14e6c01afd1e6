/* Preloaded by checkpoint.py: ends the process as kill -9 does, at the rename that gives a checkpoint its name.
   KILL_IN_RENAME=before:3 means the third such rename of the process, before it has taken effect; after:3 when it
   has. To be anywhere else in a rename is not possible: it is one step of the file system. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rename(const char* from, const char* to) {
  static int seen = 0;
  int (*const libc_rename)(const char*, const char*) = (int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename");
  const char *aim = getenv("KILL_IN_RENAME"), *name = strrchr(to, '/');
  char side[8] = "";
  int which = 0, done;
  if (!aim || sscanf(aim, "%7[a-z]:%d", side, &which) != 2 || !name || strncmp(name, "/step-", 6) != 0 ||
      ++seen != which)
    return libc_rename(from, to);
  if (strcmp(side, "before") == 0) raise(SIGKILL);
  done = libc_rename(from, to);
  raise(SIGKILL);
  return done;
}
