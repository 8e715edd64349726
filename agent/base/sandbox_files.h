#ifndef AGENT_BASE_SANDBOX_FILES_H
#define AGENT_BASE_SANDBOX_FILES_H

#include "agent/base/err.h"

/* Only below dir can anything be written, made or removed from now on; what is
 * open stays so. Needs PR_SET_NO_NEW_PRIVS (sandbox_linux.c alone includes it).
 * Without dir nothing at all can. A kernel that has no Landlock, or has it off,
 * changes nothing: Debian's has it on. returns 0, or -1 with e set (ERR_LOCAL).
 * source: landlock(7) */
MUST_CHECK int sandbox_files_restrict(const char *dir, struct err *e);

#endif
