// SPDX-License-Identifier: MIT
// pdl_launch_kernel() takes what a call takes, and passes what the call would. The library and the
// Runtime are functions of this file, and a launch calls the kernel.
#include <pdl/cudart.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace
{

// ---- the kernels: each writes what it gets ------------------------------------------------------

std::string seen;

void see(const char *format, double value)
{
    char text[64];
    std::snprintf(text, sizeof(text), format, value);
    seen += text;
}

void see(const void *pointer)
{
    char text[64];
    std::snprintf(text, sizeof(text), " %p", pointer);
    seen += text;
}

enum plain_enum { PLAIN = 7 };
enum class scoped : short { VALUE = -3 };
struct base {
    int left;
};
struct other_base {
    int right;
};
struct derived : base, other_base {
};
struct pair {
    int a;
    float b;
};
struct converts {
    operator int() const
    {
        return 42;
    }
    operator const float *() const
    {
        return &value;
    }
    float value;
};
struct from_int {
    from_int(int n) : twice(2 * n)
    {
    }
    int twice;
};
struct big {
    explicit big(int first) : values()
    {
        values[0] = first;
    }
    int values[900];
};
struct move_only {
    explicit move_only(int n) : n(n)
    {
    }
    move_only(move_only &&from) : n(from.n)
    {
        from.n = -1;
    }
    int n;
};
struct unaddressable { // as some handles are
    int n;
    int *operator&() const;
};
struct bits {
    int field : 5;
};
struct constants {
    static const int limit = 11; // without a definition: only its value can be passed
};

void k_none()
{
    seen += " none";
}
void k_int(int n)
{
    see(" %g", n);
}
void k_const_int(const int n)
{
    see(" %g", n);
}
void k_unsigned(unsigned n)
{
    see(" %g", n);
}
void k_char(signed char n)
{
    see(" %g", n);
}
void k_long(long long n)
{
    see(" %.17g", static_cast<double>(n));
}
void k_float(float x)
{
    see(" %.9g", static_cast<double>(x));
}
void k_double(double x)
{
    see(" %.17g", x);
}
void k_bool(bool b)
{
    see(" %g", b);
}
void k_enum(plain_enum e)
{
    see(" %g", e);
}
void k_scoped(scoped e)
{
    see(" %g", static_cast<double>(e));
}
void k_pointer(const float *p)
{
    see(p);
}
void k_void(void *p)
{
    see(p);
}
void k_array(int numbers[4])
{
    see(numbers);
}
void k_base(other_base *p)
{
    see(p);
}
void k_pair(pair p, const int *q)
{
    see(" %g", p.a);
    see(" %g", static_cast<double>(p.b));
    see(q);
}
void k_class(from_int f)
{
    see(" %g", f.twice);
}
void k_big(big b)
{
    see(" %g", b.values[0]);
}
void k_move(move_only m)
{
    see(" %g", m.n);
}
void k_unaddressable(unaddressable u)
{
    see(" %g", u.n);
}
void k_function(int (*f)(int))
{
    see(" %g", f(3));
}
void k_mixed(const float *w, int rows, unsigned long stride, float scale, char last)
{
    see(w);
    see(" %g", rows);
    see(" %g", static_cast<double>(stride));
    see(" %g", static_cast<double>(scale));
    see(" %g", last);
}
template <typename T, int N> void k_template(T x, T *p)
{
    see(" %g", static_cast<double>(x));
    see(p);
    see(" %g", N);
}
void k_overloaded(int n)
{
    see(" int %g", n);
}
void k_overloaded(float x)
{
    see(" float %g", static_cast<double>(x));
}

// ---- launches that call the kernel ---------------------------------------------------------------

void (*call)(void *const *args); // the kernel that is launched, with its parameters' types

template <int... I> struct indices {
};
template <int N, int... I> struct count : count<N - 1, N - 1, I...> {
};
template <int... I> struct count<0, I...> {
    typedef indices<I...> type;
};

template <typename... Params> struct caller {
    static void (*kernel)(Params...);
    template <int... I> static void pass(void *const *args, indices<I...>)
    {
        if (args[sizeof...(Params)] != nullptr) {
            seen += " no end";
        }
        kernel(static_cast<Params &&>(*static_cast<Params *>(args[I]))...);
    }
    static void run(void *const *args)
    {
        pass(args, typename count<sizeof...(Params)>::type());
    }
};
template <typename... Params> void (*caller<Params...>::kernel)(Params...);

template <typename... Params> void prepare(void (*kernel)(Params...))
{
    caller<Params...>::kernel = kernel;
    call = caller<Params...>::run;
    seen.clear();
}

int failures;

// The kernel may be overloaded or a template: (KERNEL) is an expression of its pointer.
#define LAUNCH(kernel, ...) LAUNCH_AS(kernel, kernel(__VA_ARGS__), __VA_ARGS__)
#define LAUNCH_AS(kernel, direct, ...)                                                             \
    do {                                                                                           \
        seen.clear();                                                                              \
        direct;                                                                                    \
        const std::string called = seen;                                                           \
        prepare(kernel);                                                                           \
        if (pdl_launch_kernel(desc, kernel, __VA_ARGS__) != PDL_SUCCESS || seen != called) {       \
            std::printf("line %d: %s gets%s, and%s in a call\n", __LINE__, #kernel, seen.c_str(),  \
                        called.c_str());                                                           \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

int twice(int n)
{
    return 2 * n;
}

} // namespace

pdl_status pdl_launch(pdl_kernel *, const pdl_launch_desc *, void *const *args)
{
    call(args);
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_from_runtime(const void *symbol, const pdl_runtime_ops *, pdl_kernel **kernel)
{
    *kernel = static_cast<pdl_kernel *>(const_cast<void *>(symbol));
    return PDL_SUCCESS;
}

void pdl_kernel_destroy(pdl_kernel *)
{
}

pdl_status pdl_error_record(const pdl_error *error)
{
    return static_cast<pdl_status>(error->status);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **)
{
    std::abort();
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *, const void *)
{
    std::abort();
}

int main()
{
    const pdl_launch_desc desc = pdl_launch_desc_make(dim3(1), dim3(32));
    float x = 1.5f;
    int numbers[4] = {1, 2, 3, 4};
    derived both = derived();
    const converts convertible = {2.5f};
    const bits narrow = {-9};
    const long long large = (1ll << 40) + 5;
    const unaddressable hidden = {6};
    const volatile int device_word = 21;

    prepare(k_none);
    if (pdl_launch_kernel(desc, k_none) != PDL_SUCCESS || seen != " none") {
        std::printf("line %d:%s\n", __LINE__, seen.c_str());
        failures++;
    }
    // Arithmetic: every kind for every other, whatever it does to the value.
    LAUNCH(k_int, 5);
    LAUNCH(k_int, large);
    LAUNCH(k_int, sizeof(big));
    LAUNCH(k_int, -2.75);
    LAUNCH(k_int, true);
    LAUNCH(k_int, 'x');
    LAUNCH(k_const_int, 5u);
    LAUNCH(k_unsigned, -1);
    LAUNCH(k_char, 300);
    LAUNCH(k_long, 3.5f);
    LAUNCH(k_long, ~0u);
    LAUNCH(k_float, 0.1);
    LAUNCH(k_float, large);
    LAUNCH(k_double, 0.1f);
    LAUNCH(k_bool, 2);
    LAUNCH(k_bool, &x);
    LAUNCH(k_bool, 0.25);
    // Enumerations.
    LAUNCH(k_int, PLAIN);
    LAUNCH(k_float, PLAIN);
    LAUNCH(k_enum, PLAIN);
    LAUNCH(k_scoped, scoped::VALUE);
    // What has no address, or must not be asked for it.
    LAUNCH(k_int, narrow.field);
    LAUNCH(k_int, constants::limit);
    LAUNCH(k_int, device_word);
    LAUNCH(k_unaddressable, hidden);
    // Pointers.
    LAUNCH(k_pointer, &x);
    LAUNCH(k_pointer, nullptr);
    LAUNCH(k_pointer, NULL);
    LAUNCH(k_pointer, 0);
    LAUNCH(k_void, &x);
    LAUNCH(k_void, numbers);
    LAUNCH(k_array, numbers);
    LAUNCH(k_base, &both);
    LAUNCH(k_function, twice);
    LAUNCH(k_function, [](int n) { return n + 1; });
    // Classes, by their conversions and constructors, and from braces.
    LAUNCH(k_int, convertible);
    LAUNCH(k_pointer, convertible);
    LAUNCH(k_class, 4);
    LAUNCH(k_class, {4});
    LAUNCH(k_pair, {3, 0.5f}, numbers);
    LAUNCH(k_pair, {}, {});
    LAUNCH(k_big, big(8));
    LAUNCH(k_move, move_only(9));
    // Several; templates and overloads.
    LAUNCH(k_mixed, &x, large, -1, 2.5, 65);
    LAUNCH_AS((k_template<float, 2>), (k_template<float, 2>(1.25, 0)), 1.25, 0);
    LAUNCH_AS((k_template<int, 3>), (k_template<int, 3>(2.75f, numbers)), 2.75f, numbers);
    LAUNCH_AS(static_cast<void (*)(int)>(k_overloaded), k_overloaded(1), 1);
    LAUNCH_AS(static_cast<void (*)(float)>(k_overloaded), k_overloaded(1.0f), 1);
    if (failures == 0) {
        std::puts("all launches got what calls get");
    }
    return failures != 0;
}
