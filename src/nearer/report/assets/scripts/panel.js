// What is known of one object, beside the map: its picture, its columns, its region and its neighbors.
function showPanel(object, choose) {
  const panel = byId("panel");
  if (object < 0) {
    panel.replaceChildren(element("p", "hint", "Point at an object, or look for one, to see what is near it."));
    return;
  }
  const title = element("h3");
  title.append(labelElement(data.objects[object]));
  const parts = [title];
  if (images.has(object)) {
    const picture = element("img");
    picture.src = data.thumbnails[object];
    picture.alt = "";
    parts.push(picture);
  }
  parts.push(factsOf(object));
  if (data.weights) parts.push(profileLines(object, 5));
  if (data.neighbors[object].length) parts.push(element("h4", "", data.weights ? "Most similar" : "Nearest"), neighborList(object, choose));
  panel.replaceChildren(...parts);
}

function factsOf(object) {
  const list = element("dl");
  const add = (name, value) => {
    const line = element("div");
    const [term, detail] = [element("dt"), element("dd")];
    term.append(labelElement(name));
    detail.append(labelElement(value));
    line.append(term, detail);
    list.append(line);
  };
  if (isPlaced(object)) add("placed", "after the map was fitted");
  for (const [name, values] of Object.entries(data.attributes)) if (values[object] !== null) add(name, shortNumber(values[object]));
  if (data.covariances) {
    const region = regionOf(object);
    const size = scene.shown === 1 ? shortNumber(region.long) : `${shortNumber(region.long)} × ${shortNumber(region.short)}`;
    add(`${shortNumber(100 * data.level)}% region, ±`, size);
  }
  return list;
}

function neighborList(object, choose) {
  const list = element("ol");
  data.neighbors[object].forEach((other, rank) => {
    const line = element("li");
    const button = element("button", "object");
    button.type = "button";
    button.append(labelElement(data.objects[other]));
    button.addEventListener("click", () => choose(other));
    line.append(button, element("small", "", shortNumber(data.distances[object][rank])));
    list.append(line);
  });
  return list;
}

// The same in one sentence, for those who listen.
function spoken(object) {
  const near = data.neighbors[object].map((other) => data.objects[other]).join(", ");
  const sure = data.covariances ? ` Uncertainty ${shortNumber(spread(object))}.` : "";
  return `${data.objects[object]}.${near ? ` ${data.weights ? "Most similar" : "Nearest"}: ${near}.` : ""}${sure}`;
}
