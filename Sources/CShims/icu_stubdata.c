#include <stdint.h>

// The tables of ICU, for a program that has none: what ICU calls stub data, a table of contents without entries.
//
// A statically linked program would get 34 MB of them with Foundation, and nothing in this one reads any: see Decisions.
// The name has ICU's version in it. Where a compiler brings another, its tables are in the program again, which
// scripts/build tells; in a program that is linked dynamically, Foundation's library has its own, since this is hidden.

struct icu_tables {
    uint16_t header_size;
    uint8_t magic[2];
    uint16_t info_size, reserved;
    uint8_t is_big_endian, charset_family, size_of_uchar, reserved_byte;
    uint8_t format[4], format_version[4], data_version[4];
    uint8_t padding[8];
    uint32_t count, reserved_word;
};

__attribute__((visibility("hidden"), aligned(16))) const struct icu_tables icudt76_dat = {
    .header_size = 32,
    .magic = { 0xDA, 0x27 },
    .info_size = 20,
    .is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
    .size_of_uchar = 2,
    .format = { 'T', 'o', 'C', 'P' },
    .format_version = { 1 },
};
