#include "report/html_page.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "common/digest.h"
#include "report/page_files.h"
#include "report/pictures_json.h"

namespace paritect {
namespace {

constexpr absl::string_view kReportOpens = "<script type=\"application/json\" id=\"report\">";
constexpr absl::string_view kScriptCloses = "</script>";
constexpr absl::string_view kWordPrefix = "page_";

// All scripts are one, in the order of their names: so the policy needs one digest.
const std::string& Script() {
  static const std::string& text = *new std::string(PageFiles(".js"));
  return text;
}

const std::string& Style() {
  static const std::string& text = *new std::string(PageFiles(".css"));
  return text;
}

std::string Sha256Source(absl::string_view text) {
  return absl::StrCat("'sha256-", absl::Base64Escape(Sha256(text)), "'");
}

std::string Policy(absl::string_view connect) {
  return absl::StrCat("default-src 'none'; script-src ", Sha256Source(Script()), "; style-src ", Sha256Source(Style()),
                      "; img-src data:; connect-src ", connect, "; base-uri 'none'; form-action 'none'");
}

// Inside a script element nothing but its end tag means anything: no '<' stands there. In ASCII, which a browser reads
// in two thirds of the time.
std::string EmbeddedJson(const OrderedJson& json) {
  return absl::StrReplaceAll(json.dump(-1, ' ', /*ensure_ascii=*/true, OrderedJson::error_handler_t::replace),
                             {{"<", "\\u003c"}});
}

// The page's words, in both languages.
OrderedJson Words(const Rules& rules) {
  OrderedJson words = OrderedJson::object();
  const auto& all = rules.messages.all();
  for (auto it = all.lower_bound(std::string(kWordPrefix)); it != all.end() && absl::StartsWith(it->first, kWordPrefix);
       ++it) {
    words[it->first.substr(kWordPrefix.size())] = TextToJson(it->second.text);
  }
  return words;
}

void Data(absl::string_view id, const OrderedJson& json, std::string& out) {
  absl::StrAppend(&out, "<script type=\"application/json\" id=\"", id, "\">", EmbeddedJson(json), kScriptCloses, "\n");
}

std::string Head(absl::string_view policy, absl::string_view language, absl::string_view title) {
  return absl::StrCat("<!DOCTYPE html>\n<html lang=\"", language, "\">\n<head>\n<meta charset=\"utf-8\">\n",
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"", HtmlEscape(policy), "\">\n",
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
                      "<meta name=\"referrer\" content=\"no-referrer\">\n", "<link rel=\"icon\" href=\"data:,\">\n",
                      "<title>", HtmlEscape(title), "</title>\n<style>", Style(), "</style>\n</head>\n");
}

void Tail(std::string& out) {
  absl::StrAppend(&out, "<script>", Script(), kScriptCloses, "\n</body>\n</html>\n");
}

}  // namespace

std::string HtmlEscape(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string HtmlReportFile(const HtmlReport& report, const Rules& rules, absl::string_view language) {
  std::string out = Head(Policy("'none'"), language, absl::StrCat("Paritect: ", report.headline_en));
  // What stands here is replaced by the script; it is there for the moment before, and where scripts are off.
  absl::StrAppend(&out, "<body data-mode=\"file\">\n<main id=\"app\">\n<h1 lang=\"en\">",
                  HtmlEscape(report.headline_en), "</h1>\n<h1 lang=\"zh\">", HtmlEscape(report.headline_zh),
                  "</h1>\n<noscript><p>", HtmlEscape(rules.messages.Say("page_no_script").en()), "</p><p>",
                  HtmlEscape(rules.messages.Say("page_no_script").zh()), "</p></noscript>\n</main>\n");
  Data("words", Words(rules), out);
  Data("pictures", report.pictures == nullptr ? OrderedJson() : PicturesToJson(*report.pictures), out);
  Data("report", report.report, out);
  Tail(out);
  return out;
}

std::string HtmlServerPage(const Rules& rules) {
  std::string out = Head(ServerPagePolicy(), "en", "Paritect");
  absl::StrAppend(&out, "<body data-mode=\"server\">\n<main id=\"app\"></main>\n");
  Data("words", Words(rules), out);
  Tail(out);
  return out;
}

std::string ServerPagePolicy() {
  return Policy("'self'");
}

absl::StatusOr<OrderedJson> ReportInHtml(absl::string_view html) {
  const std::size_t begin = html.find(kReportOpens);
  const std::size_t end = begin == absl::string_view::npos ? begin : html.find(kScriptCloses, begin);
  if (end == absl::string_view::npos) return absl::NotFoundError("no report of Paritect in this HTML file");
  const OrderedJson json =
      OrderedJson::parse(html.substr(begin + kReportOpens.size(), end - begin - kReportOpens.size()), nullptr, false);
  if (json.is_discarded()) return absl::InvalidArgumentError("the report in this HTML file is no JSON");
  return UnpackAll(json);
}

}  // namespace paritect
