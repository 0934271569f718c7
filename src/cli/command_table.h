// The commands with their options as plain data, made of what parses them (command.h): help, completion and near names
// are made from it, so that none of them disagrees with what is parsed.
#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

struct OptionRow {
    std::vector<std::string> names;  // "--call"; "-h", "--help"; of a positional argument what help calls it
    bool positional = false, required = false, repeated = false;
    std::string value;          // what follows it, "FILE" or "text|json"; empty: nothing does
    std::string default_value;  // where the table says it
    std::string text;
};

struct CommandRow {
    std::string name;  // empty: of the program itself
    std::string text;
    std::vector<OptionRow> options;  // positional arguments first
    std::string examples;            // lines as they are
};

struct CommandTable {
    CommandRow program;
    std::vector<CommandRow> commands;
};

// "text", "json" of "text|json"; none of what is no choice between words.
std::vector<std::string> choices_of(const OptionRow& option);
// Whether a file's name may follow: its value names one (FILE, DIR, PATH, MODEL.onnx, NAME=FILE).
bool takes_file(const OptionRow& option);

// What --help prints; no line is longer than `help_width`.
inline constexpr size_t help_width = 100;
std::string help_text(const CommandRow& command, const CommandTable& table);

// What a script asks for by `heddle completion --words KIND` where this option's value is due; empty: nothing.
std::string words_kind_of(const OptionRow& option);
// Those words: "operators", "targets", "environments", and the "dimensions" of a model.
std::vector<std::string> completion_words(const std::string& kind, const std::string& file);

// The script that makes a shell complete commands, options and their values: "bash", "zsh" or "fish".
std::string completion_script(const CommandTable& table, const std::string& shell);

// The manual page, as troff's text.
std::string manual_page(const CommandTable& table);

}  // namespace heddle::cli
