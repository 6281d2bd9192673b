#include "json/base64.h"

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ew::json {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t not_a_digit = 0xff;

constexpr std::array<std::uint8_t, 256> make_digits() {
    std::array<std::uint8_t, 256> digits = {};
    for (auto& digit : digits)
        digit = not_a_digit;
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        digits[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
    return digits;
}

constexpr auto digits = make_digits();

char digit(std::uint32_t value) {
    return alphabet[value & 63];
}

void encode_scalar(const std::uint8_t* in, std::size_t size, char* out) {
    for (; size >= 3; in += 3, size -= 3, out += 4) {
        const std::uint32_t word = std::uint32_t{in[0]} << 16 | std::uint32_t{in[1]} << 8 | in[2];
        out[0] = digit(word >> 18);
        out[1] = digit(word >> 12);
        out[2] = digit(word >> 6);
        out[3] = digit(word);
    }
    if (size == 0) return;
    const std::uint32_t word =
        std::uint32_t{in[0]} << 16 | (size == 2 ? std::uint32_t{in[1]} << 8 : 0);
    out[0] = digit(word >> 18);
    out[1] = digit(word >> 12);
    out[2] = size == 2 ? digit(word >> 6) : '=';
    out[3] = '=';
}

#if defined(__x86_64__)

// Turns 24 bytes into 32 characters. Two multiplications spread the bytes over four 6-bit fields;
// each field becomes a letter by adding an offset that depends on its range (the method of W. Mula
// and D. Lemire, "Faster Base64 Encoding and Decoding using AVX2 Instructions", 2018).
__attribute__((target("avx2"))) std::size_t encode_avx2(const std::uint8_t* in, std::size_t size,
                                                        char* out) {
    const __m256i spread = _mm256_setr_epi8(5, 4, 6, 5, 8, 7, 9, 8, 11, 10, 12, 11, 14, 13, 15, 14,
                                            1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
    const __m256i offsets =
        _mm256_setr_epi8(65, 71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 0, 0, 65, 71, -4,
                         -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 0, 0);
    const std::uint8_t* const start = in;
    // The load begins 4 bytes before the block, so the scalar code encodes the first block.
    while (size >= 28) {
        const __m256i block =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(static_cast<const void*>(in - 4)));
        const __m256i bytes = _mm256_shuffle_epi8(block, spread);
        const __m256i high = _mm256_mulhi_epu16(
            _mm256_and_si256(bytes, _mm256_set1_epi32(0x0fc0fc00)), _mm256_set1_epi32(0x04000040));
        const __m256i low = _mm256_mullo_epi16(
            _mm256_and_si256(bytes, _mm256_set1_epi32(0x003f03f0)), _mm256_set1_epi32(0x01000010));
        const __m256i fields = _mm256_or_si256(high, low);
        const __m256i above_51 = _mm256_subs_epu8(fields, _mm256_set1_epi8(51));
        const __m256i above_25 = _mm256_cmpgt_epi8(fields, _mm256_set1_epi8(25));
        const __m256i range = _mm256_sub_epi8(above_51, above_25);
        const __m256i letters = _mm256_add_epi8(fields, _mm256_shuffle_epi8(offsets, range));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(static_cast<void*>(out)), letters);
        in += 24;
        out += 32;
        size -= 24;
    }
    return static_cast<std::size_t>(in - start);
}

#endif

} // namespace

void encode_base64(std::string_view bytes, char* out) {
    const auto* in = static_cast<const std::uint8_t*>(static_cast<const void*>(bytes.data()));
    std::size_t size = bytes.size();
#if defined(__x86_64__)
    if (size >= 64 && __builtin_cpu_supports("avx2")) {
        encode_scalar(in, 6, out);
        const std::size_t done = 6 + encode_avx2(in + 6, size - 6, out + 8);
        in += done;
        size -= done;
        out += done / 3 * 4;
    }
#endif
    encode_scalar(in, size, out);
}

std::optional<std::string> decode_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    if (text.empty()) return std::string();
    std::size_t padding = 0;
    if (text.back() == '=') padding = text[text.size() - 2] == '=' ? 2 : 1;

    std::string bytes(text.size() / 4 * 3, '\0');
    std::size_t to = 0;
    std::uint32_t bad = 0;
    for (std::size_t from = 0; from < text.size(); from += 4) {
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const bool is_padding = from + i >= text.size() - padding;
            const std::uint8_t value =
                is_padding ? std::uint8_t{0} : digits[static_cast<std::uint8_t>(text[from + i])];
            bad |= value == not_a_digit ? 1U : 0U;
            word = word << 6 | (value & 63U);
        }
        bytes[to++] = static_cast<char>(word >> 16);
        bytes[to++] = static_cast<char>(word >> 8);
        bytes[to++] = static_cast<char>(word);
    }
    for (std::size_t i = 0; i < padding; ++i) {
        if (bytes.back() != '\0') return std::nullopt; // nonzero unused bits
        bytes.pop_back();
    }
    if (bad != 0) return std::nullopt;
    return bytes;
}

} // namespace ew::json
