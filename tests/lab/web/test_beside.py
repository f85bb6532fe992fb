"""What goes on beside the cells in a browser's page, where there are no threads: the picture, its buttons and slider, the limit
of a check, a chart, the playground."""
from __future__ import annotations

from tests.lab.web.test_page import DELIVERED, MOVED, in_chromium, notebook, page  # noqa: F401
from tools.web.run import words

BEGIN = """from minikafka import Cluster
cluster = Cluster(engine="sim", seed=3, preset="class")
cluster.admin().create_topic("flights", 2)
producer = cluster.producer()
view = cluster.view("flights-0")"""
TRUCKS = """from kafka import KafkaAdminClient
from minikafka import Cluster
from minikafka.lab.labs.lab00 import experiment as lab00
cluster = Cluster(brokers=3, preset="class")
lab00.new_topic(KafkaAdminClient(bootstrap_servers=cluster.bootstrap), "positions")
cluster.wait(lambda: cluster.partitions("positions"))
view = cluster.view("positions-0")
fleet = lab00.Fleet(cluster, "positions")
print(cluster.leader("positions", 0))"""
SENT = """cluster.wait(fleet.kept_on(partition=0, count=5))
print(cluster.alive)"""
SENDING = """import js
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")
sent = []
print("sends")
while cluster.pid(leader) == before:
    producer.send("positions", b"x").get(timeout=30)
    sent.append(js.Date.now())
print(*sent)"""
MEMBER = """from minikafka.lab.labs.lab05.member import Member
member = Member("C1", cluster, "positions", "watchers")
member.wait(5)
leader = cluster.leader("positions", 0)
before = cluster.pid(leader)
print(leader)"""
DRIVE = """while len(cluster.alive) == 3:
    producer.send("flights", "x", partition=0)
    cluster.sleep(0.02)
print("killed")
while len(cluster.alive) < 3:
    cluster.sleep(0.02)
print("restarted")"""
ENDLESS = """from minikafka.lab import guard
def endless():
    while True:
        pass
try:
    with guard.limited(0.5):
        endless()
except guard.TooLong:
    print("stopped")"""
CHART = "view.charts()"
PLAY = """from minikafka.lab.play import Playground
play = Playground(engine="sim")"""
NUMBERS = "print(play._trouble, play.traffic.settings.members)\nplay.stop()"
PROGRESS = "from minikafka.lab import progress\nprogress()"
START = """number => {
    const content = window.jupyterapp.shell.currentWidget.content;
    content.activeCellIndex = number;
    window.going = window.jupyterapp.commands.execute('notebook:run-cell');
}"""
END = """async number => {
    await window.going;
    return window.jupyterapp.shell.currentWidget.content.widgets[number].model.outputs.toJSON();
}"""
PRESS = """async ([place, order, state]) => {
    const node = document.querySelector(`.mk-view ${place}`), began = Date.now();
    for (let twice = 0; twice < 2; twice++) node.querySelector(`[data-order=${order}]`).click();
    while (node.dataset.process !== state) {
        if (Date.now() > began + 300_000) throw Error(`${order} is not done`);
        await new Promise(goOn => setTimeout(goOn, 10));
    }
    return [began, Date.now()];
}"""
SLIDE = """() => {
    const slider = document.querySelector('.mk-view input[type=range]');
    slider.value = slider.max / 2;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
}"""
MANY = 200  # records, while seven buttons wait
KILLED = "() => document.querySelector('.mk-view .mk-broker[data-broker=\"2\"]')?.dataset.process === 'killed'"


@in_chromium
def test_what_goes_on_beside_the_cells_of_a_page(page):  # noqa: F811
    """Fails if the picture stands still or takes no order while a cell drives the world, if its slider does nothing, if a loop
    without an end stops the notebook, if a chart has no plotly, if the playground's time or sliders stand still,
    or if the student's own page knows no lab.
    """
    page.open("labs/beside.ipynb", notebook(BEGIN, DRIVE, ENDLESS, CHART, PLAY, NUMBERS, PROGRESS))
    page.run(0)
    seen = page.page
    seen.evaluate(START, 1)
    seen.locator(".mk-view [data-broker='2'] [data-order='kill']").first.click()
    seen.wait_for_function(KILLED)
    seen.locator(".mk-view [data-broker='2'] [data-order='restart']").first.click()
    assert words(seen.evaluate(END, 1)).split() == ["killed", "restarted"]
    seen.evaluate(SLIDE)
    seen.locator(".mk-view", has_text="replay").first.wait_for()
    assert words(page.run(2)) == "stopped"
    page.run(3)
    seen.locator(".js-plotly-plot").first.wait_for()
    page.run(4)
    seen.locator(".mk-play-members .noUi-handle").first.press("ArrowRight")
    seen.wait_for_function(DELIVERED)
    assert words(page.run(5)) == "{} 3"
    assert "0 · Your first cluster" in words(page.run(6))
    assert len(page.asked) == 1 and page.complaints == []


@in_chromium
def test_time_passes_after_a_button_until_a_cell_runs(page):  # noqa: F811
    """I-BESIDE-4, I-PASSING-1: fails if a cell that is run while a button lets time pass ends in a standstill, or if the crown of
    a killed broker stays where it is as long as no cell runs."""
    page.open("labs/crown.ipynb", notebook(TRUCKS, SENT))
    leader = words(page.run(0)).split()[-1]
    page.page.locator(".mk-view [data-order='pass']").last.click()
    assert words(page.run(1)).strip() == "[1, 2, 3]"
    page.page.locator(f".mk-view [data-broker='{leader}'] [data-order='kill']").first.click()
    page.page.wait_for_function(MOVED)
    assert leader not in words(page.run(1))


@in_chromium
def test_buttons_work_while_a_cell_sends_by_kafka_python(page):  # noqa: F811
    """I-BESIDE-3, I-BESIDE-5: fails if buttons wait until a cell that sends in a loop has sent MANY records more, or until its
    end, or if an order stands still beside it. With -s it prints how long each button took."""
    page.open("labs/sending.ipynb", notebook(TRUCKS, MEMBER, SENDING))
    page.run(0)
    broker, member = f".mk-broker[data-broker='{words(page.run(1)).strip()}']", ".mk-member[data-member='C1']"
    page.page.locator(f".mk-view {member}").first.wait_for()
    page.page.evaluate(START, 2)
    page.page.locator(".jp-OutputArea-output", has_text="sends").first.wait_for()
    pressed = [_pressed(page, member, *order) for order in 3 * (("pause", "paused"), ("resume", "running"))]
    pressed.append(_pressed(page, broker, "kill", "killed"))
    _pressed(page, broker, "restart", "running")
    sent = [float(when) for when in words(page.page.evaluate(END, 2)).split()[1:]]
    late = sum(began <= when <= ended for when in sent for began, ended in pressed)
    print(f"\nsent meanwhile: {late} of {len(sent)}")
    assert late < MANY


def _pressed(page, place: str, order: str, state: str) -> list[float]:  # noqa: F811
    """Press a button twice; return when, and when the process was in that state, in milliseconds of the page's clock."""
    began, ended = page.page.evaluate(PRESS, [place, order, state])
    print(f"\n{order}: {(ended - began) / 1000:.2f} s")
    return [began, ended]
