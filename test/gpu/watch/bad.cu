/* SPDX-License-Identifier: MIT */
/* bad HOW: a program that launches kernels and ends badly, or does what programs seldom do. programs.py watches it. */
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "programs.cuh"

static const unsigned blocks = 16, threads = 64;
static unsigned *data;
static cudaStream_t stream;

static __global__ void step(unsigned *cells)
{
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    cells[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static void start()
{
    CHECK(cudaMalloc(&data, blocks * threads * sizeof(*data)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
}

static void run(int launches)
{
    for (int i = 0; i < launches; i++) {
        launch(step, blocks, threads, 0, stream, true, data);
    }
    CHECK(cudaStreamSynchronize(stream));
}

static int end_badly(const char *how, char **argv)
{
    if (strcmp(how, "killed") == 0) {
        raise(SIGKILL);
    } else if (strcmp(how, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    } else if (strcmp(how, "abort") == 0) {
        abort();
    } else if (strcmp(how, "terminated") == 0) {
        raise(SIGTERM);
    } else if (strcmp(how, "quick_exit") == 0) {
        launch(step, blocks, threads, 0, stream, true, data);
        _exit(5);
    } else if (strcmp(how, "exec") == 0) {
        char again[] = "well";
        char *arguments[] = {argv[0], again, nullptr};
        execv("/proc/self/exe", arguments);
        return 4;
    } else if (strcmp(how, "exec_other") == 0) {
        execl("/bin/echo", "echo", "another program", static_cast<char *>(nullptr));
        return 4;
    } else if (strcmp(how, "reset") == 0) {
        CHECK(cudaDeviceReset());
        start();
        run(100);
    } else if (strcmp(how, "descriptors") == 0) {
        for (int i = 3; i < 1024;
             i++) { /* the driver's own too: only what needs none still works */
            close(i);
        }
        for (int i = 0; i < 10; i++) {
            (void)cudaGetLastError();
            step<<<blocks, threads, 0, stream>>>(data);
        }
        (void)cudaStreamSynchronize(stream);
        _exit(6);
    } else if (strcmp(how, "fork") ==
               0) { /* a child that does nothing with CUDA, and ends by exit() */
        const pid_t child = fork();
        if (child == 0) {
            exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            return 4;
        }
        run(100);
    } else {
        fprintf(stderr, "%s: unknown\n", how);
        return 2;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s HOW\n", argv[0]);
        return 2;
    }
    need_device();
    start();
    run(200);
    return strcmp(argv[1], "well") == 0 ? 0 : end_badly(argv[1], argv);
}
