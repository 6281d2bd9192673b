#include "core/judgement/printed_text.h"

#include "core/judgement/ansi_quotes.h"
#include "core/judgement/command_safety.h"

namespace ew::core {

std::string printed_text(const std::vector<std::string>& words) {
    std::string text;
    std::size_t next = 2; // the argument of printf that stands for the next conversion
    const bool has_format = base_name(words.front()) == "printf" && words.size() > 2;
    for (std::size_t i = 0; has_format && i < words[1].size(); ++i) {
        const bool is_conversion = words[1][i] == '%' && i + 1 < words[1].size();
        if (!is_conversion)
            text += words[1][i];
        else if (words[1][++i] != '%')
            text += next < words.size() ? words[next++] : std::string();
    }
    text += '\n';
    for (std::size_t i = 1; i < words.size(); ++i)
        text.append(words[i]).append(" ");
    return text.find('\\') == std::string::npos ? text : text + "\n" + without_escapes(text);
}

} // namespace ew::core
