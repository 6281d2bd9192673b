// What is looked for in one directory of a walk: repositories or not, and the places in patterns
// where its names may continue. Equal ones have one number, since most directories have the same.
#pragma once

#include "sandbox/walk/walk_order.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace ew::sandbox {

class Tracks {
public:
    using Track = std::uint32_t;

    // `order` must outlive the object.
    explicit Tracks(const WalkOrder& order);

    // The directories to begin with: the roots, and the bases of the patterns. Sorted.
    const std::vector<std::string>& starts() const { return starts_; }

    bool is_start(std::string_view path) const;

    // Returns the directory at that many levels below the nearest start at or above the path, or
    // the path itself if it is not as deep.
    std::string below_start(const std::string& path, std::size_t levels) const;

    Track at_start(const std::string& path);

    // In the directory `name` in `directory`. Nothing is looked for there if it is no_track.
    Track below(Track track, std::string_view directory, std::string_view name);
    static constexpr Track no_track = 0;

    // Calls `take` with the number of each pattern that matches the name.
    template <class Take>
    void matching(Track track, std::string_view name, Take take) const {
        for (const End& end : all_[track].ends)
            if (is_match(*end.part, name)) take(end.pattern);
    }

    bool seeks_repositories(Track track) const { return all_[track].key.seeks_repositories; }

    bool seeks_matches(Track track) const { return !all_[track].key.places.empty(); }

    // The patterns that may match below.
    std::vector<std::uint32_t> patterns_at(Track track) const;

    // A work tree that is found in any directory but this is told.
    bool is_outermost_root(std::string_view path) const;

private:
    struct Place {
        std::uint32_t pattern = 0;
        std::uint32_t part = 0;
        std::uint32_t left = 0; // levels of directories

        bool operator==(const Place&) const = default;

        bool operator<(const Place& other) const {
            return std::tie(pattern, part, left) < std::tie(other.pattern, other.part, other.left);
        }
    };

    struct Key {
        bool seeks_repositories = false;
        bool is_in_git = false;
        std::vector<Place> places = {}; // sorted

        bool operator<(const Key& other) const {
            return std::tie(seeks_repositories, is_in_git, places) <
                   std::tie(other.seeks_repositories, other.is_in_git, other.places);
        }
    };

    struct NamePart {
        std::string text = {};
        // "*x" and "x" are compared at once.
        enum class Kind : std::uint8_t { exact, ending, general } kind = Kind::general;
    };

    // A place at the last part of its pattern.
    struct End {
        std::uint32_t pattern = 0;
        const NamePart* part = nullptr;
    };

    struct Entry {
        Key key = {};
        std::vector<End> ends = {};
    };

    static bool is_match(const NamePart& part, std::string_view name);
    static NamePart part_of(const std::string& text);
    Track number_of(Key key);
    std::vector<Place> first_places(std::uint32_t pattern) const;
    void add_places_below(std::span<const Place> of_one, std::string_view name,
                          std::vector<Place>& result) const;
    std::vector<Place> places_below(const std::vector<Place>& places, std::string_view name) const;
    bool seeks_at(std::string_view path) const;

    const WalkOrder& order_;
    std::vector<std::vector<NamePart>> parts_; // of each pattern
    std::vector<std::string> starts_;
    std::vector<std::string> closed_; // sorted
    std::vector<std::string> outermost_;
    std::map<Key, Track> numbers_;
    std::vector<Entry> all_;
};

} // namespace ew::sandbox
