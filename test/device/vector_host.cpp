// SPDX-License-Identifier: MIT
// pdl/types.cuh and pdl/vector.cuh on the host, as vector.py makes them: every conversion beside the
// reference of the example, and every load and store of a grid's threads within bounds, aligned, and each
// element written once.
#include <algorithm>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

// The instructions -------------------------------------------------------------------------------

static unsigned special[8]; // tid.x, tid.y, ntid.x, ... as `specials` names them
static const char *const specials[8] = {"tid.x",   "tid.y",   "ntid.x",   "ntid.y",
                                        "ctaid.x", "ctaid.y", "nctaid.x", "nctaid.y"};

struct region {
    unsigned long long begin, end;
    bool writable;
};
static std::vector<region> regions;
static std::vector<unsigned char> written; // of the writable one, how often
static std::string problem;                // the first

static void touch(unsigned long long at, unsigned bytes, bool store)
{
    bool inside = false;
    for (const region &r : regions) {
        if (at >= r.begin && at + bytes <= r.end && (r.writable || !store)) {
            inside = true;
            for (unsigned i = 0; store && i < bytes; i++) {
                written[at - r.begin + i]++;
            }
        }
    }
    if ((!inside || at % bytes != 0) && problem.empty()) {
        problem = std::string(store ? "a store" : "a load") + " of " + std::to_string(bytes) +
                  (inside ? " bytes that is not aligned" : " bytes outside of the array");
    }
    if (!inside) {
        std::printf("wrong: %s\n", problem.c_str());
        std::exit(1);
    }
}

struct operand {
    void *at;
    size_t size;
    double number() const
    {
        float f;
        double d;
        std::memcpy(&f, at, 4);
        if (size == 4) {
            return f;
        }
        std::memcpy(&d, at, 8);
        return d;
    }
    unsigned long long bits() const
    {
        unsigned long long value = 0;
        std::memcpy(&value, at, size);
        return value;
    }
    template <typename T> void set(T value) const
    {
        std::memcpy(at, &value, size);
    }
};

#include "rtc_reference.cuh"

static float toward_zero(const operand &from, std::string_view type)
{
    std::fesetround(FE_TOWARDZERO);
    volatile float to = 0;
    const unsigned long long bits = from.bits();
    if (type == "f64") {
        volatile double value = from.number();
        to = static_cast<float>(value);
    } else if (type == "s32") {
        volatile int value = static_cast<int>(bits);
        to = static_cast<float>(value);
    } else if (type == "u32") {
        volatile unsigned value = static_cast<unsigned>(bits);
        to = static_cast<float>(value);
    } else if (type == "s64") {
        volatile long long value = static_cast<long long>(bits);
        to = static_cast<float>(value);
    } else {
        volatile unsigned long long value = bits;
        to = static_cast<float>(value);
    }
    std::fesetround(FE_TONEAREST);
    return to;
}

// Not-a-number becomes what the devices make of it at worst.
static void to_integer(const operand &to, double value, std::string_view type)
{
    const bool is_signed = type[0] == 's';
    const int width = type == "s32" || type == "u32" ? 32 : 64;
    const __int128 high = (static_cast<__int128>(1) << (is_signed ? width - 1 : width)) - 1;
    const __int128 low = is_signed ? -high - 1 : 0;
    const __int128 cut = std::isnan(value)  ? low - (is_signed ? 0 : -high)
                         : value >= 0x1p65  ? high
                         : value <= -0x1p65 ? low
                                            : static_cast<__int128>(value);
    to.set(static_cast<unsigned long long>(cut > high ? high : cut < low ? low : cut));
}

static void convert(std::string_view text, const operand *o)
{
    const std::string_view name = text.substr(0, text.find(' '));
    if (name == "cvt.f32.f16") {
        o[0].set(static_cast<float>(decode(*small_float_of(PDL_VECTOR_FLOAT16), o[1].bits())));
    } else if (name == "cvt.rn.f16.f32") {
        o[0].set(encode(*small_float_of(PDL_VECTOR_FLOAT16), o[1].number()));
    } else if (name == "cvt.rn.bf16.f32") {
        o[0].set(encode(*small_float_of(PDL_VECTOR_BFLOAT16), o[1].number()));
    } else if (name == "cvt.rz.f16.f32") {
        const small_float &half = *small_float_of(PDL_VECTOR_FLOAT16);
        const double value = o[1].number();
        unsigned long long bits = encode(half, value);
        bits -= std::fabs(decode(half, bits)) > std::fabs(value) ? 1 : 0;
        o[0].set(bits);
    } else if (name == "cvt.rn.satfinite.e4m3x2.f32") {
        o[0].set(encode(*small_float_of(PDL_VECTOR_FLOAT8_E4M3), o[2].number()));
    } else if (name == "cvt.rn.satfinite.e5m2x2.f32") {
        o[0].set(encode(*small_float_of(PDL_VECTOR_FLOAT8_E5M2), o[2].number()));
    } else if (name.compare(0, 11, "cvt.rz.f32.") == 0) {
        o[0].set(toward_zero(o[1], name.substr(11)));
    } else if (name.compare(0, 8, "cvt.rzi.") == 0) {
        to_integer(o[0], o[1].number(), name.substr(8, 3));
    } else {
        std::printf("wrong: no instruction %s\n", text.data());
        std::exit(1);
    }
}

static void execute(std::string_view text, const operand *o, unsigned count)
{
    if (text.compare(0, 3, "cvt") == 0 && text.compare(0, 4, "cvta") != 0) {
        convert(text, o);
    } else if (text.compare(0, 7, "add.rn.") == 0) {
        o[0].size == 4
            ? o[0].set(static_cast<float>(o[1].number()) + static_cast<float>(o[2].number()))
            : o[0].set(o[1].number() + o[2].number());
    } else if (text.compare(0, 4, "cvta") == 0) {
        o[0].set(o[1].bits());
    } else if (text.compare(0, 4, "shf.") == 0) {
        const unsigned long long both = o[2].bits() << 32 | o[1].bits();
        o[0].set(both >> (o[3].bits() & 31));
    } else if (text.compare(0, 4, "mov.") == 0) {
        for (int i = 0; i < 8; i++) {
            if (text == std::string("mov.u32 %0, %%") + specials[i] + ";") {
                o[0].set(special[i]);
                return;
            }
        }
        std::printf("wrong: no register %s\n", text.data());
        std::exit(1);
    } else { // ld.global, st.global: a register, or two, four or eight words
        const bool store = text[0] == 's';
        const operand *values = store ? o + 1 : o;
        const unsigned long long at = store ? o[0].bits() : o[count - 1].bits();
        const bool byte = text.find(".u8 ") != std::string::npos;
        const bool pair = text.find(".u16 ") != std::string::npos;
        const unsigned each = byte ? 1 : pair ? 2 : 4;
        touch(at, each * (count - 1), store);
        for (unsigned i = 0; i + 1 < count; i++) {
            unsigned value = static_cast<unsigned>(values[i].bits());
            void *memory = reinterpret_cast<void *>(at + i * 4);
            if (store) {
                std::memcpy(memory, &value, each);
            } else {
                value = 0;
                std::memcpy(&value, memory, each);
                values[i].set(value);
            }
        }
    }
}

template <typename... A> void emulate(const char *text, const A &...a)
{
    const operand o[] = {{const_cast<void *>(static_cast<const void *>(&a)), sizeof(a)}...};
    execute(text, o, sizeof...(a));
}

#include <pdl/vector.cuh>

// Conversions and sums ---------------------------------------------------------------------------

static int wrong;

static void end_after_three()
{
    if (++wrong == 3) {
        std::exit(1);
    }
}

static void complain(const char *what, const char *from, const char *to, unsigned long long bits,
                     unsigned long long old, unsigned long long got)
{
    std::printf("wrong: %s of %s 0x%llx as %s (before: 0x%llx) is 0x%llx\n", what, from, bits, to,
                old, got);
    end_after_three();
}

static unsigned long long random_bits()
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ (state >> 29);
}

static unsigned long long value_of(pdl_vector_type type, unsigned i)
{
    const unsigned size = pdl_vector_type_size(type);
    const unsigned long long random = random_bits();
    if (type == PDL_VECTOR_BOOL) {
        return i & 1;
    }
    if (size <= 2) {
        return i & (size == 1 ? 0xffu : 0xffffu);
    }
    if (is_integer(type)) {
        const unsigned long long value =
            (size == 8 ? random : random & 0xffffffffu) >> (i % (8 * size));
        return (i & 64) != 0 ? 0 - value : value;
    }
    const unsigned half = i & 0xffffu; // ties of the small types and what lies beside them
    const pdl_vector_type small = static_cast<pdl_vector_type>(PDL_VECTOR_FLOAT16 + i / 7 % 4);
    const small_float &s = *small_float_of(small);
    const double low = decode(s, half & ((1u << s.bits) - 1));
    const double high = decode(s, (half + 1) & ((1u << s.bits) - 1));
    number n = {number::DOUBLE, 0, low, false};
    n.floating = i % 7 == 0 ? low : (low + high) / 2;
    unsigned long long bits = store(type, n);
    return i % 7 < 3 ? bits : i % 7 == 3 ? bits + 1 : i % 7 == 4 ? bits - 1 : random;
}

template <typename T> T of_bits(unsigned long long bits)
{
    T value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

template <typename T> unsigned long long bits_of(T value)
{
    unsigned long long bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    return bits;
}

template <typename In, typename Out> void try_pair(pdl_vector_type in, pdl_vector_type out)
{
    for (unsigned i = 0; i < 65536; i += in <= PDL_VECTOR_BFLOAT16 ? 1 : 5) {
        const unsigned long long bits = value_of(in, i) & (~0ull >> (64 - 8 * sizeof(In)));
        const unsigned long long old = value_of(out, 7 * i + 3) & (~0ull >> (64 - 8 * sizeof(Out)));
        const number from = load(in, bits);
        const auto computed = pdl_storage<In>::load(of_bits<In>(bits));
        const unsigned long long got = bits_of(pdl_convert<Out>(computed));
        const unsigned long long sum = bits_of(pdl_add(of_bits<Out>(old), computed));
        if (!matches(out, got, from)) {
            complain("the value", pdl_vector_type_name(in), pdl_vector_type_name(out), bits, 0,
                     got);
        }
        if (!matches(out, sum, add(out, load(out, old), from))) {
            complain("the sum", pdl_vector_type_name(in), pdl_vector_type_name(out), bits, old,
                     sum);
        }
    }
}

template <typename In, typename... Outs> void try_from(pdl_vector_type in)
{
    int out = PDL_VECTOR_FLOAT64; // the types are in the order of their numbers
    (try_pair<In, Outs>(in, static_cast<pdl_vector_type>(out++)), ...);
}

template <typename... Types> void try_all()
{
    int in = PDL_VECTOR_FLOAT64;
    (try_from<Types, Types...>(static_cast<pdl_vector_type>(in++)), ...);
}

/* A template, as try_grids() is, so that it costs nothing where it is not called. */
template <typename = void> void try_types()
{
    try_all<double, float, pdl_half, pdl_bfloat16, pdl_float8_e4m3, pdl_float8_e5m2, signed char,
            unsigned char, short, unsigned short, int, unsigned, long long, unsigned long long,
            bool>();
}

// The grid ---------------------------------------------------------------------------------------

struct first_plus_second {
    template <typename A, typename B> A operator()(A x, B y) const
    {
        return static_cast<A>(x + static_cast<A>(y));
    }
};

struct shape {
    int rows, columns, gap; // between rows
    int out, a, b;          // where they begin, in elements
};

/* Two inputs of different types; small integers, so that sums are easily told. */
template <int Width, int Unroll, int Mode, typename Out, typename A, typename B>
void try_shape(const shape &s, const unsigned (&launch)[4])
{
    alignas(64) static unsigned char memory[3][1 << 14];
    const int stride = s.columns + s.gap;
    const int all = s.rows * stride - s.gap;
    Out *out = reinterpret_cast<Out *>(memory[0]) + s.out;
    A *a = reinterpret_cast<A *>(memory[1]) + s.a;
    B *b = reinterpret_cast<B *>(memory[2]) + s.b;
    regions.clear();
    const auto add_region = [](auto *at, int count, bool writable) {
        const unsigned long long begin = reinterpret_cast<unsigned long long>(at);
        regions.push_back({begin, begin + static_cast<size_t>(count) * sizeof(*at), writable});
    };
    add_region(out, all, true);
    add_region(a, all, false);
    add_region(b, all, false);
    written.assign(static_cast<size_t>(std::max(all, 0)) * sizeof(Out), 0);
    for (int i = 0; i < all; i++) {
        out[i] = static_cast<Out>(i % 3);
        a[i] = static_cast<A>(i % 61);
        b[i] = static_cast<B>(i % 59);
    }
    const unsigned thread_count = launch[0] * launch[1];
    for (unsigned block = 0; block < launch[2] * launch[3]; block++) {
        for (unsigned thread = 0; thread < thread_count; thread++) {
            const unsigned now[8] = {thread % launch[0], thread / launch[0], launch[0], launch[1],
                                     block % launch[2],  block / launch[2],  launch[2], launch[3]};
            std::copy(now, now + 8, special);
            pdl_vector_map<Width, Unroll, Mode>(s.rows, s.columns, first_plus_second(),
                                                pdl_vector_out(out, stride),
                                                pdl_vector_in(a, stride), pdl_vector_in(b, stride));
        }
    }
    bool right = problem.empty();
    for (int i = 0; i < all; i++) {
        const bool inside = i % stride < s.columns;
        const int sum = i % 61 + i % 59 + (Mode != 0 ? i % 3 : 0);
        right = right && out[i] == static_cast<Out>(inside ? sum : i % 3);
        for (size_t k = 0; k < sizeof(Out); k++) {
            right = right && written[static_cast<size_t>(i) * sizeof(Out) + k] == (inside ? 1 : 0);
        }
    }
    if (!right) {
        std::printf("wrong: width %d, unroll %d, mode %d, %d rows of %d + %d, from elements %d, "
                    "%d, %d: %s\n",
                    Width, Unroll, Mode, s.rows, s.columns, s.gap, s.out, s.a, s.b,
                    problem.empty() ? "an element" : problem.c_str());
        problem.clear();
        end_after_three();
    }
}

template <int Width, int Unroll, int Mode, typename Out, typename A, typename B> void try_shapes()
{
    for (int columns : {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 70, 129}) {
        for (int offset = 0; offset < 17 * 3; offset++) {
            const int other = static_cast<int>(random_bits() >> 40) % 17;
            try_shape<Width, Unroll, Mode, Out, A, B>(
                {1, columns, 0, offset % 17, other, offset / 17},
                {4, 1, offset % 2 == 0 ? 1u : 3u, 1});
        }
        for (int gap = 0; gap < 4; gap++) {
            try_shape<Width, Unroll, Mode, Out, A, B>({5, columns, gap, gap, 1, 0}, {2, 2, 2, 2});
        }
    }
}

template <typename = void> void try_grids()
{
    try_shapes<16, 1, 0, signed char, unsigned char, signed char>();
    try_shapes<32, 1, 0, unsigned char, unsigned char, signed char>();
    try_shapes<8, 4, 1, short, unsigned short, unsigned char>();
    try_shapes<8, 1, 0, unsigned short, unsigned short, short>();
    try_shapes<4, 4, 0, float, unsigned char, int>();
    try_shapes<4, 1, 1, int, long long, short>();
    try_shapes<2, 4, 1, double, float, unsigned char>();
    try_shapes<2, 1, 0, long long, double, unsigned short>();
    try_shapes<16, 1, 1, float, long long, signed char>();
    try_shapes<1, 4, 0, unsigned, signed char, double>();
}

int main()
{
    TRY; // vector.py says what
    return wrong == 0 ? 0 : 1;
}

const char *pdl_vector_type_name(pdl_vector_type type)
{
    static const char *const names[] = {"",       "double", "float",  "half",  "bfloat16", "e4m3",
                                        "e5m2",   "int8",   "uint8",  "int16", "uint16",   "int32",
                                        "uint32", "int64",  "uint64", "bool"};
    return names[type];
}

uint32_t pdl_vector_type_size(pdl_vector_type type)
{
    static const uint32_t sizes[] = {0, 8, 4, 2, 2, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 1};
    return sizes[type];
}
