// What can be measured of a page: text that is cut off or reaches out of it, and text that is hard to read.
(() => {
  const shown = [...document.querySelectorAll("body *")].filter(element => {
    const box = element.getBoundingClientRect();
    const isHidden = element.closest("[hidden], template, .unseen, thead, .skip, .is-stale") || getComputedStyle(element).visibility === "hidden";
    return box.width > 0 && box.height > 0 && !isHidden;
  });
  const hasText = element => [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  const name = element => `${element.tagName.toLowerCase()}${element.id ? "#" + element.id : ""}.${element.className} “${element.textContent.trim().slice(0, 40)}”`;

  const channels = text => {
    const numbers = text.match(/[\d.]+/g).map(Number);
    return text.startsWith("color(") ? [...numbers.slice(0, 3).map(one => one * 255), numbers[3] ?? 1] : [...numbers.slice(0, 3), numbers[3] ?? 1];
  };
  const light = ([r, g, b]) => [r, g, b].map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
  const ground = element => {
    for (let one = element; one; one = one.parentElement) {
      const colour = channels(getComputedStyle(one).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const contrast = element => {
    const [a, b] = [light(channels(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };

  return {
    outside: shown.filter(element => element.getBoundingClientRect().right > innerWidth + 0.5).map(name),
    faint: shown.filter(hasText).filter(element => contrast(element) < 4.5).map(element => `${contrast(element).toFixed(2)} ${name(element)}`),
    nameless: shown.filter(element => element.matches("button, input, a")
      && !(element.getAttribute("aria-label") || element.textContent.trim() || element.labels?.length)).map(name),
  };
})()
