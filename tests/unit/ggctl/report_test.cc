// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "ggctl/report/axis.h"
#include "ggctl/report/charts.h"
#include "ggctl/report/page.h"
#include "tests/unit/ggctl/xml.h"

namespace gg {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(AxisTest, MarksStandAtRoundNumbers) {
  EXPECT_THAT(Axis::Fitting({0, 9.7}, Scale::kLinear).Marks(5), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(Axis::Fitting({0.1, 2.3}, Scale::kLog).Marks(5),
              ElementsAre(DoubleEq(0.1), DoubleEq(0.2), DoubleEq(0.5), DoubleEq(1), DoubleEq(2)));
  EXPECT_THAT(
      Axis::Fitting({1e-6, 10}, Scale::kLog).Marks(5),
      ElementsAre(DoubleNear(1e-6, 1e-12), DoubleNear(1e-4, 1e-9), DoubleEq(0.01), DoubleEq(1)));
}

TEST(AxisTest, AnyValuesGiveAnAxis) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    for (const std::vector<double>& values :
         std::vector<std::vector<double>>{{}, {nan}, {0}, {0, 0}, {5}, {-1, -1}, {1e-30, 1e30}}) {
      const Axis axis = Axis::Fitting(values, scale);
      const std::vector<double> marks = axis.Marks(5);
      EXPECT_THAT(marks, Not(SizeIs(0)));
      EXPECT_LT(marks.size(), 20u);
      for (const double value : values) {
        if (!axis.Holds(value)) continue;
        EXPECT_GE(axis.Place(value), 0);
        EXPECT_LE(axis.Place(value), 1);
      }
    }
  }
}

TEST(AxisTest, ANarrowLogarithmicAxisHasSeveralMarks) {
  for (const double middle : {0.7, 1.0, 2.3, 3.3, 41.0, 9e-5}) {
    for (const double ratio : {1.0, 1.01, 1.3, 1.6, 2.5, 6.0, 9.0}) {
      const Axis axis = Axis::Fitting({middle, middle * ratio}, Scale::kLog);
      const std::vector<double> marks = axis.Marks(5);
      EXPECT_GE(marks.size(), 3u) << middle << " x " << ratio;
      for (const double mark : marks) {
        EXPECT_GE(axis.Place(mark), -1e-9);
        EXPECT_LE(axis.Place(mark), 1 + 1e-9);
      }
    }
  }
}

std::string Words(double value) {
  return std::to_string(value);
}

TEST(ChartsTest, WhatCannotBeDrawnIsSaid) {
  LineChart chart;
  chart.title = "a & b";
  chart.x_text = chart.y_text = Words;
  chart.y_scale = Scale::kLog;
  chart.series = {
      {"there", {{1, 2}, {2, 1}}, {}}, {"zero", {{1, 0}, {2, 0}}, {}}, {"none", {}, {}}};
  const std::string svg = Draw(chart);
  EXPECT_EQ(XmlProblem(svg), "");
  EXPECT_THAT(svg, HasSubstr("No values to draw here: zero, none"));
  BarChart bars;
  bars.title = "bars";
  bars.text = Words;
  bars.bars = {{"known", 0.5, 0.1}, {"unknown", std::numeric_limits<double>::quiet_NaN(), 0}};
  EXPECT_EQ(XmlProblem(Draw(bars)), "");
  EXPECT_THAT(Draw(bars), HasSubstr("No values to draw here: unknown"));
}

TEST(ChartsTest, WithoutAnyValueThereAreNoAxes) {
  LineChart chart;
  chart.title = "loss";
  chart.x_text = chart.y_text = Words;
  chart.series = {{"a", {}, {}}, {"b", {}, {}}};
  EXPECT_EQ(XmlProblem(Draw(chart)), "");
  EXPECT_THAT(Draw(chart), HasSubstr("No values to draw here: a, b"));
  EXPECT_THAT(Draw(chart), Not(HasSubstr("<svg")));
  BarChart bars;
  bars.title = "bars";
  bars.text = Words;
  bars.bars = {{"a", std::numeric_limits<double>::quiet_NaN(), 0}};
  EXPECT_THAT(Draw(bars), HasSubstr("No values to draw here: a"));
  EXPECT_THAT(Draw(bars), Not(HasSubstr("<svg")));
}

TEST(ChartsTest, NamesOfManyLinesDoNotLieOnEachOther) {
  LineChart chart;
  chart.x_text = chart.y_text = Words;
  for (int i = 0; i < 12; ++i)
    chart.series.push_back({"series " + std::to_string(i), {{0, 1}, {1, 1 + i * 1e-6}}, {}});
  const std::string svg = Draw(chart);
  std::set<std::string> places;
  size_t names = 0;
  static const std::regex kName(R"re(y="([0-9.]+)" text-anchor="start">series)re");
  for (std::sregex_iterator it(svg.begin(), svg.end(), kName), end; it != end; ++it) {
    places.insert((*it)[1].str());
    ++names;
  }
  EXPECT_EQ(names, 12u);
  EXPECT_EQ(places.size(), names);
}

TEST(PageTest, EveryTextIsEscaped) {
  Page page("<t>");
  page.Heading("a & b");
  page.Paragraph("\"quoted\" \x1b[31m \xff");
  page.Table({{"<h>"}, {"'cell'"}});
  page.Code("a: <b>\nc: d");
  EXPECT_EQ(XmlProblem(page.Html()), "");
  EXPECT_THAT(page.Html(), HasSubstr("a: &lt;b&gt;\nc: d"));
  EXPECT_THAT(page.Html(), Not(HasSubstr("\x1b")));
}

TEST(PageTest, NamesBreakAfterColonsOnly) {
  Page page("t");
  page.Table({{"Method: one", "x: y"}, {"gossip-grad:schedule=<ring>", "a:b"}});
  EXPECT_EQ(XmlProblem(page.Html()), "");
  EXPECT_THAT(page.Html(),
              HasSubstr("<td><span class=\"part\">gossip-grad:</span><wbr/><span class=\"part\">"
                        "schedule=&lt;ring&gt;</span></td><td>a:b</td>"));
  EXPECT_THAT(page.Html(), Not(HasSubstr("anywhere")));
}

TEST(XmlTest, TheCheckOfTheseTestsFindsMistakes) {
  EXPECT_EQ(XmlProblem("<!DOCTYPE html><a b=\"1\"><c/>x &amp; y</a>"), "");
  for (const char* bad : {"<a>", "<a></b>", "</a>", "<a b=1></a>", "<a>&</a>", "<a>&nbsp;</a>",
                          "<a/><b/>", "<a>1 < 2</a>"}) {
    EXPECT_NE(XmlProblem(bad), "") << bad;
  }
}

}  // namespace
}  // namespace gg
