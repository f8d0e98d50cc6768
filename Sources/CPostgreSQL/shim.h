// PostgreSQL's client library, from Debian's libpq-dev.
#include <libpq-fe.h>
