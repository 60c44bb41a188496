"""How much the page takes: before a token, of one session, and in all."""

SMALL = 1 << 20  # bytes of a request that is no upload; and of what an upload has beside the file
TOKEN = 4096  # bytes of a request that brings a token
HEADERS = 1 << 15  # bytes of a request's first line and headers
PATIENCE = 20.0  # seconds in which a connection must bring a session: a whole request, not a piece of one
STRANGERS = 100  # open connections that have not brought a session; one more closes the oldest
CONNECTIONS = 60  # open connections of one session
SESSIONS = 100  # in all
WINDOWS = 20  # of one session
PARTS = 3  # of one upload: the file, and what a browser may say of it
UPLOADS = 2  # of one session at a time: a table and its rules
JOB = 2 * 3600.0  # seconds of one piece of work
COLUMNS = 2000  # of a table; each is a row of the form
