r"""Java's regular expressions as Python's (minikafka/lab/spark/pattern.py), beside Java itself."""
from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from minikafka.lab.spark.pattern import PatternError, topic_pattern

TOPICS = ("trips", "shop-trips", "Shop_Trips.v2", "SHOP", "a", "A", "b", "ab", "aab", "abc", "aBAb", "9", "a1", "-", "_", ".",
          "a-b-c", "topic.12")
# One for each word of java.util.regex.Pattern's documentation, right and wrong, and where Java and Python differ.
PATTERNS = r"""
trips shop ^shop trips$ ^trips$ .* shop.trips shop\.trips shop* (shop|topic)[-.].* ^(?!shop).*$ ^(?:(?!rips).)*$
^.{1,3}$ \Ashop.*\z (?i)SHOP (?i:SHOP)-t a(?i)b a(?i)b|C (a(?i)b)B (?i)a(?-i)b (?i)[^a] ^(?i)[^a]$ (?i)[A-C]$
^(?i)[^A-C]$ (?ims)A (?-i)a (?i-m:A) \p{Alpha}+$ ^\p{Alpha}+$ \p{Lower} ^\p{Upper}+$ \p{L} \pL \p{Lu} \p{IsL} \p{Nd}
\P{Alpha} ^\P{L}+$ \p{Punct} \p{P} \p{Pd} \p{Pc} \p{Foo} \p{ \p \p{Cntrl} \p{XDigit}{2} \p{Graph} \p{Print} \p{Blank}
\p{Space} \p{ASCII} \p{Alnum} (?i)\p{Alpha} \p{Z} \p{So} \p{Is} \Qa-b\E \Q.\E \Q..| a\Q \Q\E \\Q [\Q.-\E] [\Qa-c\E]$
\Qa\E+ \Q(\E (?i)\QSHOP\E ^[a-z&&[^b]]$ ^[a-z&&[bc]]$ ^[a-z&&bc]$ ^[^a-z&&[bc]]$ [&&a] [a&&] [a&&&&b] [&&] [a&b]
[a&&^b] [[a][b]]$ [a[^b]] [^a[b]] ^[^a[b]]$ []a] [a]] [^]a] [] [^] [ [a [a-] [-a] [a-[b]] [z-a] [\d-z] [a-\d]
[\w&&[^\d]]+$ [\p{L}&&[^a]] [.] [$] [a-z-9] [+--] [!-~] [a-c[0-9]]+$ [^-] [\]] [\[] [\^a] [a^] [\\] [a-b-c] [&a]
[a-z&&&a] [a&&[b][c]] [a-c&&b[c]] [a-c&&[b]c] [[^a]&&[^b]] [a-z&&[^\p{Upper}]] a*+ a++b a*+a a?+ a{2} a{2,} a{1,2}
a{,2} a{2 a{ { } a} ] a** a+* a?* * + ? *a (*a) a| |a a|| (|a) ^* ^+a $* \b+a (a*)* (a|b)*+c a{2,1} a{99999999999}
a{0} a?? a+? a{1,2}? (?>a|ab)c (?=a)ab (?!a)b (?<=a)b (?<!a)b (?<n>a)\k<n> (?P<n>a) (?P=n) (?<1a>a) (?<n_a>a) \k<n>
(?<n>a)(?<n>b) (?#c)a (?(1)a) (?:ab)+ ((a)(b)) () (?) (?:) (?i (?z)a (?L)a (?a)a (?<a (?<>a) (a)\1 (a)(b)\2 (a)\11
(?i)(ab)\1 \d+ \D+ ^\D+$ \w \W ^\W+$ \s \S ^\S+$ \h \H \v \V \R \X ^\X$ \R*a \ba\b a\Bb \Atrips trips\Z \Ga \e \a \t
\cA \c \x61 \x{61} \x6 \x{} \x{110000} \u0061 \u61 \0141 \0 \08 \00 \0377 \i \j \y \_ \- \. \/ \< \E \Ka \L \Y \U #
a#b , ' " ~ @ ( ) (a [a-
""".split()
ALONE = r"(?<=a*)b (?<=a|bc)c (?x)a (?i)\p{Lower} \p{IsLatin} \b{g} \1 a{2}{3} é".split()  # only we refuse them
WORDS = [*"ab A-_.1xt|*+?$&()[]^", r"\d", r"\W", r"\.", r"\p{Alpha}", r"\P{L}", r"\Q", r"\E", "&&", "{2}", "{1,2}", "(?i)", "(?:",
         "(?=", "(?!", "(?<=", "(?>", "(?<n>", r"\b", r"\1", r"\k<n>", "a-c", "[^", "(?-i)", "(?i:", r"\S", r"\h", r"\Z"]


def java(spark: SparkSession, pattern: str) -> list[str] | None:
    """Return the topics that Java finds, None where it refuses the pattern."""
    try:
        compiled = spark._jvm.java.util.regex.Pattern.compile(pattern)
    except Exception:  # PatternSyntaxException, as py4j brings it
        return None
    return [topic for topic in TOPICS if compiled.matcher(topic).find()]


def ours(pattern: str) -> list[str] | None:
    try:
        return list(filter(topic_pattern(pattern), TOPICS))
    except PatternError:
        return None


def test_patterns_find_what_java_finds(spark):
    """I-SPARK-19. Fails if a pattern found other topics than in Java, or were refused without need."""
    assert {pattern: ours(pattern) for pattern in PATTERNS} == {pattern: java(spark, pattern) for pattern in PATTERNS}
    assert all(ours(pattern) is None and java(spark, pattern) is not None for pattern in ALONE)


@pytest.mark.parametrize("number", [300, pytest.param(20_000, marks=[pytest.mark.soak, pytest.mark.slow])])
def test_random_patterns(spark, number):
    """I-SPARK-19. Fails if a mixture of what patterns are made of found other topics than in Java."""
    drawn, right = random.Random(number), 0
    for _ in range(number):
        pattern = "".join(drawn.choices(WORDS, k=drawn.randint(1, 8)))
        found = ours(pattern)
        right += found is not None
        assert found is None or found == java(spark, pattern), pattern
    assert right > number / 10
