/* The container that holds the namespaces of a pod: it waits, and reaps the orphans of pods whose containers share
   their processes. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop(int number) {
  (void)number;
  _exit(EXIT_SUCCESS);
}

static void reap(int number) {
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  signal(SIGCHLD, reap);
  for (;;) {
    pause();
  }
}
