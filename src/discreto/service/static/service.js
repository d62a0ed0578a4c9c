// Shows the expected error while a question is being put together, and loads pages with
// work under way again. Works without it.
"use strict";
if ("refresh" in document.body.dataset) {
  const busy = () => document.activeElement && document.activeElement.matches("input, select, textarea");
  setInterval(() => { if (!busy()) location.reload(); }, 2000);
}
const form = document.getElementById("ask");
if (form) {
  const place = document.getElementById("preview");
  let timer = 0;
  const show = async () => {
    const reply = await fetch(form.dataset.preview, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const told = await reply.json();
    place.textContent = told.text;
  };
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 300); });
}
