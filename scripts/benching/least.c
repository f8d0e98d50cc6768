// The least that a proxy can do: two reads and two writes per request, on kept connections, without parsing any bytes.
// Its CPU time is the kernel's share in the CPU time of any proxy on this machine. It takes each read for a whole request or
// response, and so works only for small ones.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 512, CONNECTIONS = 8192, PIECE = 4096 };

struct connection {
    int socket;
    bool isUpstream;
    // For a caller, its upstream connection; for an upstream connection, its caller.
    struct connection *other;
    // The bytes to send at the end of this turn of the loop.
    size_t count;
    char piece[PIECE];
};

static int events;
static struct sockaddr_in upstream = {.sin_family = AF_INET};
static struct connection *idle[CONNECTIONS];
static size_t idleCount;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static struct connection *add(int socket, bool isUpstream) {
    if (socket < 0) fail("no socket");
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) fail("no memory");
    connection->socket = socket;
    connection->isUpstream = isUpstream;
    int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = connection};
    if (epoll_ctl(events, EPOLL_CTL_ADD, socket, &event) != 0) fail("epoll_ctl");
    return connection;
}

static struct connection *acquire(void) {
    if (idleCount > 0) return idle[--idleCount];
    int made = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(made, (struct sockaddr *)&upstream, sizeof upstream) != 0) fail("connect");
    return add(made, true);
}

// Reads available bytes and returns the connection to send them on, or NULL if there are none or the connection has ended.
static struct connection *pass(struct connection *from) {
    char piece[PIECE];
    ssize_t count = recv(from->socket, piece, sizeof piece, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return NULL;
    if (count <= 0) {
        // The upstream closes its connections only at the end of the run.
        if (from->isUpstream) exit(0);
        close(from->socket);
        return NULL;
    }
    struct connection *to = from->isUpstream ? from->other : acquire();
    to->other = from;
    to->count = (size_t)count;
    memcpy(to->piece, piece, to->count);
    if (from->isUpstream && idleCount < CONNECTIONS) idle[idleCount++] = from;
    return to;
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: least PORT UPSTREAM-PORT\n");
        return 64;
    }
    upstream.sin_port = htons((uint16_t)atoi(arguments[2]));
    upstream.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    events = epoll_create1(0);
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = upstream;
    address.sin_port = htons((uint16_t)atoi(arguments[1]));
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0) fail("listen");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(events, EPOLL_CTL_ADD, listener, &event) != 0) fail("epoll_ctl");
    for (;;) {
        struct epoll_event ready[EVENTS];
        struct connection *written[EVENTS];
        size_t writes = 0;
        int found = epoll_wait(events, ready, EVENTS, -1);
        for (int index = 0; index < found; index++) {
            struct connection *from = ready[index].data.ptr, *to = NULL;
            if (from) to = pass(from);
            else add(accept(listener, NULL, NULL), false);
            if (to) written[writes++] = to;
        }
        // Writes follow all reads, as in martlet: writing to a reader that is already awake is cheaper.
        for (size_t index = 0; index < writes; index++) {
            struct connection *to = written[index];
            ssize_t sent = send(to->socket, to->piece, to->count, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent != (ssize_t)to->count && to->isUpstream) fail("send");
        }
    }
}
