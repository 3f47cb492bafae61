#include "common/command_line/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include "common/text/suggestion.hpp"
#include "common/text/table.hpp"
#include "common/text/text_file.hpp"

namespace heelstrike {
namespace {

constexpr std::size_t option_column = 30;   ///< where descriptions of options begin
constexpr std::size_t command_column = 16;  ///< the same for subcommands

/// Name and constraint of the value of an option: CLI11 joins both, "SECONDS:FLOAT in [0 - 86400]".
struct ValueText {
  std::string name;
  std::string constraint;  ///< "0 to 86400", "above 0", "one of a, b"; empty = any
};

/// The names in "a,b" of a set, or in "a->0,b->1" of a transformation.
std::string one_of(const std::string& set) {
  std::vector<std::string> names = CLI::detail::split(set, ',');
  for (std::string& name : names) name = name.substr(0, name.find("->"));
  return fmt::format("one of {}", fmt::join(names, ", "));
}

ValueText value_text(const CLI::Option& option) {
  const std::string both = option.get_type_name();
  const auto colon = both.find(':');
  ValueText value{.name = both.substr(0, colon), .constraint = {}};
  if (colon == std::string::npos) return value;
  const std::string rule = both.substr(colon + 1);
  if (const auto range = rule.find(" in ["); range != std::string::npos) {
    const std::string ends = rule.substr(range + 5, rule.find(']') - range - 5);
    const auto dash = ends.find(" - ");
    value.constraint = fmt::format("{} to {}", ends.substr(0, dash), ends.substr(dash + 3));
  } else if (rule.starts_with('{') || rule.starts_with("value in {")) {
    const auto begin = rule.find('{') + 1;
    value.constraint = one_of(rule.substr(begin, rule.find('}') - begin));
  } else if (rule == "POSITIVE") {
    value.constraint = "above 0";
  } else {
    value.name = both;
  }
  return value;
}

/// Remarks after the description of an option, in parentheses.
std::string remarks(const CLI::Option& option) {
  std::vector<std::string> all;
  if (option.get_required()) all.emplace_back("required");
  if (const std::string rule = value_text(option).constraint; !rule.empty()) all.push_back(rule);
  if (const std::string fallback = option.get_default_str(); !fallback.empty() && fallback != "\"\"") {
    all.push_back("default " + fallback);
  }
  std::vector<std::string> names;
  for (const CLI::Option* other : option.get_needs()) names.push_back(other->get_name());
  if (!names.empty()) all.push_back(fmt::format("with {}", fmt::join(names, ", ")));
  names.clear();
  for (const CLI::Option* other : option.get_excludes()) names.push_back(other->get_name());
  if (!names.empty()) all.push_back(fmt::format("not with {}", fmt::join(names, ", ")));
  return all.empty() ? "" : fmt::format(" ({})", fmt::join(all, "; "));
}

/// The lines of a text, each in lines of at most `width` that begin with `indent` blanks.
std::vector<std::string> paragraphs(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  for (const std::string& line : CLI::detail::split(text, '\n')) {
    const auto wrapped = wrapped_lines(line, width, "");
    lines.insert(lines.end(), wrapped.begin(), wrapped.end());
  }
  return lines;
}

/// A name, and its description in the second column or below.
std::string two_columns(const std::string& name, const std::string& description, std::size_t column,
                        std::size_t width) {
  std::string text = "  " + name;
  if (description.empty()) return text + '\n';
  std::size_t used = text.size();
  if (used + 2 > column) {
    text += '\n';
    used = 0;
  }
  for (const std::string& line : paragraphs(description, std::max(width, column + 20) - column)) {
    text += std::string(column - used, ' ') + line + '\n';
    used = 0;
  }
  return text;
}

/// A line of a footer. A command that does not fit is continued as in a shell.
std::string footer_line(const std::string& line, std::size_t width) {
  const auto indent = std::min(line.find_first_not_of(' '), line.size());
  const bool is_command = indent > 0 && line.compare(indent, 10, "heelstrike") == 0;
  const std::size_t further = indent + (is_command ? 4 : 0);
  std::string text;
  const auto pieces = wrapped_lines(line.substr(indent), width - further - (is_command ? 2 : 0), "");
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    text += std::string(i == 0 ? indent : further, ' ') + pieces[i];
    text += is_command && i + 1 < pieces.size() ? " \\\n" : "\n";
  }
  return text;
}

class HelpFormat final : public CLI::Formatter {
 public:
  explicit HelpFormat(std::size_t width) : width_(width) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return two_columns(make_option_name(option, is_positional) + make_option_opts(option),
                       option->get_description() + remarks(*option), option_column, width_);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};
    const std::string name = value_text(*option).name;
    const bool is_list = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return (name.empty() ? "" : " " + name) + (is_list ? " ..." : "");
  }
  std::string make_description(const CLI::App* app) const override {
    return fmt::format("{}\n", fmt::join(paragraphs(app->get_description(), width_), "\n"));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return two_columns(command->get_name(), command->get_description(), command_column, width_);
  }
  std::string make_footer(const CLI::App* app) const override {
    std::string text;
    if (app->get_footer().empty()) return text;
    for (const std::string& line : CLI::detail::split(app->get_footer(), '\n')) text += footer_line(line, width_);
    return text;
  }

 private:
  std::size_t width_;
};

/// Options of a program or command by which a user may call them: "--backend", "-o".
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool is_one_letter(const std::string& option) {
  return option.size() == 2;
}

/// Options similar to an unknown one. Any two options of one letter are similar.
std::vector<std::string> similar_options(const std::string& name, std::vector<std::string> known) {
  if (is_one_letter(name)) return {};
  std::erase_if(known, is_one_letter);
  return similar_names(name, known);
}

/// "; heelstrike resume is a command (Continue an interrupted run)" for --resume; empty if no command has this name.
std::string command_named(const CLI::App& program, const std::string& option) {
  for (const CLI::App* command : program.get_subcommands({})) {
    if ("--" + command->get_name() != option) continue;
    return fmt::format("; {} {} is a command ({})", program.get_name(), command->get_name(),
                       command->get_description());
  }
  return {};
}

/// Commands of the program that have the option.
std::vector<std::string> commands_with(const CLI::App& program, const std::string& option) {
  std::vector<std::string> commands;
  for (const CLI::App* command : program.get_subcommands({})) {
    const std::vector<std::string> names = option_names(*command);
    if (std::ranges::find(names, option) != names.end()) commands.push_back(command->get_name());
  }
  return commands;
}

std::string unknown_option(const CLI::App& program, const CLI::App& command, const std::string& given,
                           const std::string& help) {
  const std::string name = given.substr(0, given.find('='));
  constexpr std::size_t max_commands = 5;  // an option of more commands would be a list of no use
  const std::string as_command = command_named(program, name);
  if (const auto similar = similar_options(name, option_names(command)); !similar.empty()) {
    return fmt::format("unknown option {}; did you mean {}?{}", name, fmt::join(similar, " or "), as_command);
  }
  const auto others = commands_with(program, name);
  if (!others.empty() && (&command == &program || others.size() <= max_commands)) {
    const std::string commands = fmt::format("{}", fmt::join(others, ", "));
    return &command == &program
               ? fmt::format("option {} has no command before it; write it after one of {}", name, commands)
               : fmt::format("unknown option {}; it is an option of {}{}; {} lists those of {}", name, commands,
                             as_command, help, command.get_name());
  }
  if (&command == &program) {
    std::vector<std::string> all;
    for (const CLI::App* other : program.get_subcommands({})) {
      for (const std::string& option : option_names(*other)) all.push_back(option);
    }
    if (const auto similar = similar_options(name, all); !similar.empty()) {
      return fmt::format("unknown option {}; did you mean {}, after one of {}?{}", name, similar.front(),
                         fmt::join(commands_with(program, similar.front()), ", "), as_command);
    }
  }
  return fmt::format("unknown option {}{}; {} lists all options", name, as_command, help);
}

std::string unexpected_argument(const CLI::App& command, const std::string& given, const std::string& help) {
  const std::vector<std::string> names = option_names(command);
  const bool has_vary = std::ranges::find(names, "--vary") != names.end();
  // The values of a list or range.
  const std::size_t equals = given.find('=');
  if (has_vary && equals != std::string::npos && given.find_first_of(":,", equals) != std::string::npos) {
    return fmt::format("unexpected argument {}; did you mean --vary {}?", given, given);
  }
  const bool sets = given.find('=') != std::string::npos && std::ranges::find(names, "--set") != names.end();
  if (sets) return fmt::format("unexpected argument {}; did you mean --set {}?", given, given);
  return fmt::format("unexpected argument {}; {} shows what the command takes", given, help);
}

/// The option whose value was rejected: CLI11 states its name within the message only.
const CLI::Option* rejected_option(const CLI::App& command, const std::string& message) {
  const CLI::Option* found = nullptr;
  for (const CLI::Option* option : command.get_options({})) {
    const bool named = message.starts_with(option->get_name() + ":") ||
                       message.find(": " + option->get_name() + " = ") != std::string::npos;
    if (named && option->count() > 0) found = option;
  }
  return found;
}

/// Unit in the description of an option, "Force at that depth [N]"; empty if it has none.
std::string unit_of(const CLI::Option& option) {
  const std::string& text = option.get_description();
  const auto begin = text.find('[');
  const auto end = text.find(']', begin == std::string::npos ? 0 : begin);
  return begin == std::string::npos || end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
}

std::string rejected_value(const CLI::Option& option, const std::string& message) {
  const std::vector<std::string> results = option.results();
  const std::string given = results.empty() ? "" : results.back();
  const std::string unit = unit_of(option);
  const std::string rule = value_text(option).constraint;
  const bool has_own_check = rule.empty() && option.get_type_name().find(':') != std::string::npos;
  if (has_own_check || given.empty()) return message;
  if (rule.starts_with("one of ")) return fmt::format("{}: expected {}, found '{}'", option.get_name(), rule, given);
  std::string expected = "a number";
  if (!unit.empty()) expected += " in " + unit;
  if (!rule.empty()) expected += (rule.starts_with("above") ? " " : " from ") + rule;
  double value = 0.0;
  const char* end = given.data() + given.size();
  const auto [rest, failure] = std::from_chars(given.data(), end, value);
  if (failure == std::errc() && rest != end) {
    const std::string_view number(given.data(), static_cast<std::size_t>(rest - given.data()));
    if (*rest == ':' || *rest == ',') {
      return fmt::format("{}: expected {}, found '{}'; give one value: heelstrike sweep varies keys of a scenario",
                         option.get_name(), expected, given);
    }
    // The number itself is right in the unit of the option only: 1 kN is not 1 N.
    if (trimmed(std::string_view(rest, end)) == unit) {
      return fmt::format("{}: expected {}, found '{}'; write {}", option.get_name(), expected, given, number);
    }
  }
  return fmt::format("{}: expected {}, found '{}'", option.get_name(), expected, given);
}

/// First line of a description: "Run folder".
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The message of a missing option or value, in place of "--output is required" and "--size: 1 required LENGTH missing"
/// of CLI11; empty for other messages.
std::string missing_message(const CLI::App& command, const std::string& message) {
  for (const CLI::Option* option : command.get_options({})) {
    const std::string& name = option->get_name();
    const std::string type = value_text(*option).name;
    const bool is_positional = option->get_positional();
    const std::string value = is_positional && (type.empty() || type == "TEXT") ? name : type;
    if (message == name + " is required") {
      return fmt::format("{} is missing: {}", is_positional ? value : name + " " + value,
                         first_line(option->get_description()));
    }
    if (message.starts_with(name + ":") && message.ends_with(" missing")) {
      return fmt::format("{}: expected {} after it, found none", name, value);
    }
  }
  return {};
}

}  // namespace

void set_help_format(CLI::App& app, std::size_t width) {
  app.formatter(std::make_shared<HelpFormat>(width == 0 ? help_width : std::max<std::size_t>(width, 50)));
}

std::string parse_error_message(const CLI::App& app, const CLI::ParseError& error, const std::string& program) {
  const CLI::App* command = &app;
  std::string help = program;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().back();
    help += " " + command->get_name();
  }
  help += " --help";
  const std::vector<std::string> rest = command->remaining();
  const auto option = std::ranges::find_if(rest, [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
  });
  if (option != rest.end()) return unknown_option(app, *command, *option, help);
  const std::string message = error.what();
  if (const std::string missing = missing_message(*command, message); !missing.empty()) {
    return fmt::format("{}; {} shows what the command takes", missing, help);
  }
  if (const CLI::Option* rejected = rejected_option(*command, message)) return rejected_value(*rejected, message);
  if (!rest.empty()) return unexpected_argument(*command, rest.front(), help);
  return fmt::format("{}; {} shows what the command takes", message, help);
}

}  // namespace heelstrike
