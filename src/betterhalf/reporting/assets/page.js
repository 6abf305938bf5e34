// The pictures stand in the page already; each gives way to its chart once that is drawn.
for (const figure of document.querySelectorAll("figure[data-chart]")) {
  const chart = JSON.parse(document.getElementById(figure.dataset.chart).textContent);
  const place = document.createElement("div");
  const actions = { export: true, source: false, compiled: false, editor: false };
  figure.append(place);
  vegaEmbed(place, chart, { renderer: "svg", actions }).then(
    () => figure.querySelector(".picture").remove(),
    () => place.remove(),
  );
}
