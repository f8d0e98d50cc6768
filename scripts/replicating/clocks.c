// Gives one process other clocks: a wall clock that is off, and clocks that run fast or slow.
//
//     cc -shared -fPIC -O2 -o clocks.so clocks.c
//     CLOCK_OFFSET=2.0 CLOCK_RATE=1.05 LD_PRELOAD=./clocks.so program
//
// From the start of the process on, all clocks that say the time run CLOCK_RATE times as fast as they should, and wall clocks are
// CLOCK_OFFSET seconds ahead. Moments that the process hands to the kernel, and periods of its timers, are converted back, so that
// a timer fires when the process's own clock says so. libfaketime 0.9.10 converts no absolute moments: with a rate, timers never fire.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

typedef long long nanoseconds;

static const nanoseconds second = 1000000000;
static double rate = 1;
static nanoseconds offset, starts[16];
// The clock of each timer's descriptor.
static unsigned char timers[1 << 16];

static nanoseconds from(const struct timespec *time) { return time->tv_sec * second + time->tv_nsec; }

static struct timespec to(nanoseconds time) {
    if (time < 0) time = 0;
    return (struct timespec){time / second, time % second};
}

static nanoseconds now(clockid_t clock) {
    struct timespec time;
    syscall(SYS_clock_gettime, clock, &time);
    return from(&time);
}

// Clocks that are one and the same, read with less effort, or that can wake the machine.
static clockid_t kind(clockid_t clock) {
    switch (clock) {
    case CLOCK_REALTIME_COARSE: case CLOCK_REALTIME_ALARM: return CLOCK_REALTIME;
    case CLOCK_MONOTONIC_COARSE: return CLOCK_MONOTONIC;
    case CLOCK_BOOTTIME_ALARM: return CLOCK_BOOTTIME;
    default: return clock;
    }
}

static int is_changed(clockid_t clock) {
    clock = kind(clock);
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME;
}

static nanoseconds ahead(clockid_t clock) { return kind(clock) == CLOCK_REALTIME ? offset : 0; }

static nanoseconds shown(clockid_t clock, nanoseconds real) {
    return starts[kind(clock)] + (nanoseconds)((real - starts[kind(clock)]) * rate) + ahead(clock);
}

static nanoseconds real(clockid_t clock, nanoseconds shown) {
    return starts[kind(clock)] + (nanoseconds)((shown - ahead(clock) - starts[kind(clock)]) / rate);
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("CLOCK_RATE");
    if (text) rate = atof(text);
    if ((text = getenv("CLOCK_OFFSET"))) offset = (nanoseconds)(atof(text) * second);
    const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME};
    for (unsigned each = 0; each < sizeof clocks / sizeof *clocks; each++) starts[clocks[each]] = now(clocks[each]);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && is_changed(clock)) *time = to(shown(clock, from(time)));
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    nanoseconds at = shown(CLOCK_REALTIME, now(CLOCK_REALTIME));
    *time = (struct timeval){at / second, at % second / 1000};
    return 0;
}

time_t time(time_t *place) {
    time_t at = shown(CLOCK_REALTIME, now(CLOCK_REALTIME)) / second;
    if (place) *place = at;
    return at;
}

int timerfd_create(int clock, int flags) {
    int descriptor = syscall(SYS_timerfd_create, clock, flags);
    if (descriptor >= 0 && descriptor < (int)sizeof timers) timers[descriptor] = clock;
    return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *new, struct itimerspec *old) {
    struct itimerspec changed = *new;
    clockid_t clock = descriptor < (int)sizeof timers ? timers[descriptor] : CLOCK_MONOTONIC;
    // Zero disarms the timer.
    if (from(&new->it_value) != 0) {
        nanoseconds value = flags & TFD_TIMER_ABSTIME ? real(clock, from(&new->it_value)) : (nanoseconds)(from(&new->it_value) / rate);
        changed.it_value = to(value > 0 ? value : 1);
        changed.it_interval = to(from(&new->it_interval) / rate);
    }
    return syscall(SYS_timerfd_settime, descriptor, flags, &changed, old);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request, struct timespec *left) {
    struct timespec changed = to(flags & TIMER_ABSTIME && is_changed(clock) ? real(clock, from(request)) : (nanoseconds)(from(request) / rate));
    return syscall(SYS_clock_nanosleep, clock, flags, &changed, left) == 0 ? 0 : errno;
}

int nanosleep(const struct timespec *request, struct timespec *left) {
    struct timespec changed = to(from(request) / rate);
    return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &changed, left);
}

// A condition doesn't say which clock its moments are of. Only moments of a wall clock are this large.
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    clockid_t clock = from(until) > starts[CLOCK_REALTIME] / 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec changed = to(real(clock, from(until)));
    return pthread_cond_clockwait(condition, mutex, clock, &changed);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    struct timespec changed = to(real(CLOCK_REALTIME, from(until)));
    return sem_clockwait(semaphore, CLOCK_REALTIME, &changed);
}
