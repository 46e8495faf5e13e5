#include "report/html_page.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "report/page_files.h"
#include "report/pictures_json.h"
#include "rules/phrases.h"

namespace paritect {

std::string HtmlEscape(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

namespace {

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
    words[it->first.substr(kWordPrefix.size())] = TextToJson(it->second->message().text);
  }
  return words;
}

// What the page says values with in Chinese (report/language.h, ValueIn): the report has them as they were found.
OrderedJson ValuePhrases() {
  OrderedJson phrases = OrderedJson::array();
  for (const v1::Text& one : BuiltInValuePhrases().texts()) phrases.push_back({one.en(), one.zh()});
  return phrases;
}

std::string DataOpens(absl::string_view id) {
  return absl::StrCat("<script type=\"application/json\" id=\"", id, "\">");
}

void Data(absl::string_view id, absl::string_view json, std::string& out) {
  absl::StrAppend(&out, DataOpens(id), json, kScriptCloses, "\n");
}

// The text of a data element in a file; NotFound.
absl::StatusOr<absl::string_view> DataIn(absl::string_view html, absl::string_view id) {
  const std::string opens = DataOpens(id);
  const std::size_t begin = html.find(opens);
  const std::size_t end = begin == absl::string_view::npos ? begin : html.find(kScriptCloses, begin);
  if (end == absl::string_view::npos) return absl::NotFoundError("no report of Paritect in this HTML file");
  return html.substr(begin + opens.size(), end - begin - opens.size());
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

struct Headlines {
  std::string en;
  std::string zh;
};

std::string FileAround(const Headlines& headlines, absl::string_view pictures, absl::string_view report,
                       const Rules& rules, absl::string_view language) {
  std::string out = Head(Policy("'none'"), language, absl::StrCat("Paritect: ", headlines.en));
  // What stands here is replaced by the script; it is there for the moment before, and where scripts are off.
  absl::StrAppend(&out, "<body data-mode=\"file\">\n<main id=\"app\">\n<h1 lang=\"en\">", HtmlEscape(headlines.en),
                  "</h1>\n<h1 lang=\"zh\">", HtmlEscape(headlines.zh), "</h1>\n<noscript><p>",
                  HtmlEscape(rules.messages.Say("page_no_script").en()), "</p><p>",
                  HtmlEscape(rules.messages.Say("page_no_script").zh()), "</p></noscript>\n</main>\n");
  Data("words", EmbeddedJson(Words(rules)), out);
  Data("phrases", EmbeddedJson(ValuePhrases()), out);
  Data("pictures", pictures, out);
  Data("report", report, out);
  Tail(out);
  return out;
}

std::string SentenceOf(const OrderedJson& report, const char* language) {
  const OrderedJson sentence = report.is_object() ? report.value("sentence", OrderedJson()) : OrderedJson();
  if (!sentence.is_object() || !sentence.contains(language) || !sentence[language].is_string()) return "";
  return sentence[language].get<std::string>();
}

}  // namespace

std::string PicturesText(const v1::ReportPictures* pictures) {
  return EmbeddedJson(pictures == nullptr ? OrderedJson() : PicturesToJson(*pictures));
}

std::string HtmlReportFile(const HtmlReport& report, const Rules& rules, absl::string_view language) {
  return FileAround({report.headline_en, report.headline_zh}, PicturesText(report.pictures),
                    EmbeddedJson(report.report), rules, language);
}

std::string HtmlServerPage(const Rules& rules) {
  std::string out = Head(ServerPagePolicy(), "en", "Paritect");
  absl::StrAppend(&out, "<body data-mode=\"server\">\n<main id=\"app\"></main>\n");
  Data("words", EmbeddedJson(Words(rules)), out);
  Data("phrases", EmbeddedJson(ValuePhrases()), out);
  Tail(out);
  return out;
}

std::string ServerPagePolicy() {
  return Policy("'self'");
}

absl::StatusOr<ReportInFile> ReportInHtml(absl::string_view html, const Rules& rules) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view report, DataIn(html, "report"));
  const OrderedJson json = OrderedJson::parse(report, nullptr, false);
  if (json.is_discarded()) return absl::InvalidArgumentError("the report in this HTML file is no JSON");
  ReportInFile made;
  PARITECT_ASSIGN_OR_RETURN(made.report, UnpackAll(json));
  const auto pictures = DataIn(html, "pictures");
  if (pictures.ok()) made.pictures = std::string(*pictures);
  for (const char* const language : {"en", "zh"}) {
    made.page_is_ours =
        made.page_is_ours || (pictures.ok() && html == FileAround({SentenceOf(json, "en"), SentenceOf(json, "zh")},
                                                                  *pictures, report, rules, language));
  }
  return made;
}

}  // namespace paritect
