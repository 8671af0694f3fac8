"""Challenges of bot protection: each service is recognized, and ordinary pages are not."""

import pytest

from minicrawl.web.responses.challenges import (
    READ_BYTES,
    SHORT_BYTES,
    challenge,
    leads_to_cookie_wall,
)

ARTICLE = b"<title>How a page can wait</title><p>Just a moment...</p>" + b"<p>text</p>" * 900


@pytest.mark.parametrize(
    ("status", "headers", "body", "service"),
    [
        (403, {"cf-mitigated": "challenge"}, b"", "Cloudflare"),
        (503, {"server": "cloudflare"}, b"<title>Just a moment...</title>", "Cloudflare"),
        (403, {}, b"window._cf_chl_opt={}", "Cloudflare"),
        (403, {"server": "AkamaiGHost"}, b"Access Denied", "Akamai"),
        (403, {}, b"Reference https://errors.edgesuite.net/18.1", "Akamai"),
        (403, {"x-datadome": "protected"}, b"", "DataDome"),
        (403, {}, b"https://geo.captcha-delivery.com/captcha", "DataDome"),
        (403, {}, b"<div id=px-captcha>", "HUMAN"),
        (200, {}, b"Request unsuccessful. Incapsula incident ID: 1", "Imperva"),
        (200, {}, b"<title>Pardon Our Interruption...</title>", "Imperva"),
        (202, {"x-amzn-waf-action": "challenge"}, b"", "AWS WAF"),
        (405, {"x-amzn-waf-action": "captcha"}, b"", "AWS WAF"),
        (403, {"server": "Sucuri/Cloudproxy"}, b"", "Sucuri"),
        (200, {}, b"<script>sucuri_cloudproxy_js=''</script>", "Sucuri"),
        (200, {}, b"<title>Making sure you&#39;re not a bot!</title>", "Anubis"),
        (429, {"x-vercel-mitigated": "challenge"}, b"", "Vercel"),
        (999, {}, b"", "LinkedIn"),
        (202, {"sg-captcha": "challenge"}, b"", "SiteGround"),
        (200, {}, b"<title>Cookies are required</title>", "cookie wall"),
        # ordinary pages and errors
        (200, {"server": "cloudflare"}, ARTICLE, ""),
        (200, {"server": "cloudflare"}, b"<script src=/cdn-cgi/challenge-platform/></script>", ""),
        (200, {"x-iinfo": "1", "server": "AkamaiGHost", "x-datadome": "1"}, ARTICLE, ""),
        (404, {"server": "cloudflare"}, b"<title>Not found</title>", ""),
        (404, {"server": "AkamaiGHost", "x-iinfo": "1"}, b"", ""),
        (403, {"server": "nginx"}, b"<title>403 Forbidden</title>", ""),
        (200, {"cf-mitigated": "none"}, b"", ""),
        (200, {}, b" " * SHORT_BYTES + b"px-captcha", ""),
        (200, {}, b"<title>How to enable cookies</title>", ""),
        (403, {}, b" " * READ_BYTES + b"px-captcha", ""),
    ],
)
def test_a_challenge_has_the_name_of_its_service(
    status: int, headers: dict[str, str], body: bytes, service: str
) -> None:
    assert challenge(status, headers, body) == service


@pytest.mark.parametrize(
    ("target", "is_wall"),
    [
        ("https://consent.b.example/ask?to=x", True),
        ("/action/cookieAbsent", True),
        ("/no-cookies.html", True),
        ("/cookies", False),
        ("/about/consent.example", False),
        ("/recipes/no-cookies-today", False),
    ],
)
def test_a_redirect_to_a_page_that_demands_cookies_is_a_wall(target: str, is_wall: bool) -> None:
    assert leads_to_cookie_wall("http://a.example/", target) is is_wall
    assert not leads_to_cookie_wall("https://consent.b.example/", target)
