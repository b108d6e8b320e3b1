// Joins two network namespaces with a wire that has delay, jitter, rate, queue and loss.
//
//   wanlink SEED NS1:DEV1 NS2:DEV2 FORWARD BACKWARD
//
// FORWARD applies to packets from NS1 to NS2, BACKWARD to those from NS2 to NS1. Each is a list such as
//   delay=MS,jitter=MS,rate=MBIT,queue=KIB,loss=PERCENT   (each may be missing; without a rate it is unlimited)
//
// Creates a TUN device in each namespace, then prints `ready`; the devices have no addresses yet. SIGUSR1 cuts the
// wire, which then drops every packet; SIGUSR2 mends it; SIGTERM ends the program.
//
// Each direction is a queue: a packet waits until those before it have been sent at the rate, and is dropped if more
// than `queue` is waiting. It is lost with the probability `loss`, but uses the wire even then. It arrives `delay`
// later, plus a jitter that wanders between -jitter and +jitter: it has a new aim every 50 ms and moves straight
// between aims, so packets keep their order.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64 };
static const int64_t JITTER_STEP = 50000000, SLACK = 30000;  // ns

struct packet { int64_t due; uint32_t length; uint8_t bytes[]; };

struct direction {
  int from, to;                      // TUN devices
  int64_t delay, jitter, queue;      // ns, ns, bytes
  double ns_per_byte, loss;          // 0: unlimited; probability
  uint64_t random;
  int64_t free_at, last_due;         // when the wire is free; when the last packet arrives
  int64_t aim_time; double aim_from, aim_to;
  struct packet *ring; uint32_t head, tail;
};

static const uint32_t slots = 1 << 14, packet_max = 2048 - sizeof(struct packet);
static int is_cut;

static struct packet *slot(struct direction *d, uint32_t at) {
  return (struct packet *)((uint8_t *)d->ring + (size_t)(at % slots) * (sizeof(struct packet) + packet_max));
}

static void fail(const char *what) { perror(what); exit(1); }

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static double uniform(struct direction *d) {  // xorshift64*
  d->random ^= d->random >> 12; d->random ^= d->random << 25; d->random ^= d->random >> 27;
  return (double)((d->random * 2685821657736338717ULL) >> 11) / 9007199254740992.0;
}

static int64_t jitter_at(struct direction *d, int64_t t) {
  if (d->jitter == 0) return 0;
  if (t - d->aim_time > 20 * JITTER_STEP) d->aim_time = t - JITTER_STEP;
  while (t >= d->aim_time + JITTER_STEP) {
    d->aim_time += JITTER_STEP; d->aim_from = d->aim_to; d->aim_to = 2 * uniform(d) - 1;
  }
  double part = (double)(t - d->aim_time) / JITTER_STEP;
  return (int64_t)(d->jitter * (d->aim_from + (d->aim_to - d->aim_from) * part));
}

static int open_tun(char *spec) {
  char *colon = strchr(spec, ':'), path[256];
  if (!colon) { fprintf(stderr, "NS:DEV, not %s\n", spec); exit(2); }
  snprintf(path, sizeof path, "/run/netns/%.*s", (int)(colon - spec), spec);
  int ns = open(path, O_RDONLY | O_CLOEXEC);
  if (ns < 0 || setns(ns, CLONE_NEWNET) < 0) fail(path);
  close(ns);
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) fail("/dev/net/tun");
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  snprintf(request.ifr_name, IFNAMSIZ, "%s", colon + 1);
  if (ioctl(fd, TUNSETIFF, &request) < 0) fail("TUNSETIFF");
  return fd;
}

static void read_parameters(struct direction *d, const char *spec) {
  char copy[256];
  snprintf(copy, sizeof copy, "%s", spec);
  d->queue = 256 * 1024;
  for (char *rest, *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
    char *equals = strchr(part, '=');
    double value = equals ? atof(equals + 1) : -1;
    size_t n = equals ? (size_t)(equals - part) : 0;
    if (value < 0) { fprintf(stderr, "name=value, not %s\n", part); exit(2); }
    if (n == 5 && !strncmp(part, "delay", n)) d->delay = (int64_t)(value * 1e6);
    else if (n == 6 && !strncmp(part, "jitter", n)) d->jitter = (int64_t)(value * 1e6);
    else if (n == 4 && !strncmp(part, "rate", n)) d->ns_per_byte = value > 0 ? 8000 / value : 0;
    else if (n == 5 && !strncmp(part, "queue", n)) d->queue = (int64_t)(value * 1024);
    else if (n == 4 && !strncmp(part, "loss", n)) d->loss = value / 100;
    else { fprintf(stderr, "unknown: %s\n", part); exit(2); }
  }
}

static void take_in(struct direction *d) {
  int64_t now = now_ns();
  for (int i = 0; i < BATCH; i++) {
    if ((uint32_t)(d->tail - d->head) == slots) return;  // the kernel's queue takes the rest
    struct packet *p = slot(d, d->tail);
    ssize_t n = read(d->from, p->bytes, packet_max);
    if (n <= 0) return;
    if (is_cut) continue;
    int64_t sent = now;
    if (d->ns_per_byte > 0) {
      int64_t start = d->free_at > now ? d->free_at : now;
      if ((double)(start - now) / d->ns_per_byte + (double)n > (double)d->queue) continue;
      sent = d->free_at = start + (int64_t)(d->ns_per_byte * (double)n);
    }
    if (d->loss > 0 && uniform(d) < d->loss) continue;
    int64_t due = sent + d->delay + jitter_at(d, sent);
    if (due < d->last_due) due = d->last_due;
    d->last_due = p->due = due;
    p->length = (uint32_t)n;
    d->tail++;
  }
}

static void give_out(struct direction *d, int64_t now) {
  while (d->head != d->tail) {
    struct packet *p = slot(d, d->head);
    if (p->due > now + SLACK) return;
    (void)!write(d->to, p->bytes, p->length);  // what the device refuses is lost
    d->head++;
  }
}

int main(int argc, char **argv) {
  if (argc != 6) { fprintf(stderr, "usage: wanlink SEED NS1:DEV1 NS2:DEV2 FORWARD BACKWARD\n"); return 2; }
  uint64_t seed = strtoull(argv[1], NULL, 10);
  struct direction way[2] = {0};
  for (int i = 0; i < 2; i++) read_parameters(&way[i], argv[4 + i]);
  int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  way[0].from = way[1].to = open_tun(argv[2]);
  if (own < 0 || setns(own, CLONE_NEWNET) < 0) fail("own namespace");
  way[0].to = way[1].from = open_tun(argv[3]);
  for (int i = 0; i < 2; i++) {
    way[i].random = (seed * 2 + (uint64_t)i + 1) * 0x9E3779B97F4A7C15ULL;
    way[i].ring = calloc(slots, sizeof(struct packet) + packet_max);
    if (!way[i].ring) fail("calloc");
  }
  sigset_t signals;
  sigemptyset(&signals);
  for (int i = 0; i < 3; i++) sigaddset(&signals, (int[]){SIGUSR1, SIGUSR2, SIGTERM}[i]);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  int signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  int watched[4] = {way[0].from, way[1].from, timer, signal_fd};
  for (uint32_t i = 0; i < 4; i++)
    epoll_ctl(epoll, EPOLL_CTL_ADD, watched[i], &(struct epoll_event){.events = EPOLLIN, .data.u32 = i});
  puts("ready"); fflush(stdout);
  int64_t armed = 0;
  for (;;) {
    struct epoll_event events[4];
    int n = epoll_wait(epoll, events, 4, -1);
    if (n < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < n; i++) {
      uint32_t which = events[i].data.u32;
      if (which < 2) take_in(&way[which]);
      else if (which == 2) { uint64_t times; if (read(timer, &times, 8) == 8) armed = 0; }
      else {
        struct signalfd_siginfo info;
        if (read(signal_fd, &info, sizeof info) != sizeof info) continue;
        if (info.ssi_signo == SIGTERM) return 0;
        is_cut = info.ssi_signo == SIGUSR1;
      }
    }
    int64_t now = now_ns(), next = 0;
    for (int i = 0; i < 2; i++) {
      give_out(&way[i], now);
      if (way[i].head != way[i].tail) {
        int64_t due = slot(&way[i], way[i].head)->due;
        if (next == 0 || due < next) next = due;
      }
    }
    if (next != 0 && (armed == 0 || next < armed)) {
      struct itimerspec at = {.it_value = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000}};
      timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
      armed = next;
    }
  }
}
