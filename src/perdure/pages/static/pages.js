// What a page cannot say in HTML: counting characters, taking a line away after ten seconds,
// offering what can be done with chosen rows, and saying that the service is away.
"use strict";
(() => {
  const GONE_MS = 10000;
  const BRIEF_MS = 6000;
  const notice = () => document.getElementById("notice");

  // ── characters, as a person counts them ──
  const segmenter = window.Intl && Intl.Segmenter ? new Intl.Segmenter() : null;
  const graphemes = (text) => (segmenter ? [...segmenter.segment(text)].length : [...text].length);
  const count = (area) => {
    const line = document.getElementById(area.getAttribute("aria-describedby").split(" ")[0]);
    const n = graphemes(area.value.trim());
    const over = n > Number(area.dataset.longest);
    line.textContent = line.dataset.words.replace("{n}", n);
    line.classList.toggle("over", over);
    area.setAttribute("aria-invalid", over ? "true" : "false");
  };

  // ── rows that were chosen ──
  const offer = () => {
    const bar = document.getElementById("several");
    if (bar) bar.hidden = !document.querySelector('input[name="chosen"]:checked');
  };

  // ── lines that offer the way back for a while ──
  const leave = (row) => {
    if (!row.isConnected) return;
    if (row.matches(":hover")) {
      setTimeout(() => leave(row), 1000);
      return;
    }
    const held = row.contains(document.activeElement);
    const next = row.nextElementSibling || row.previousElementSibling;
    row.remove();
    if (held) ((next && next.querySelector("a, button")) || document.getElementById("q") || document.body).focus();
  };

  const days = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium" });
  const moments = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

  const look = (root) => {
    root.querySelectorAll("textarea[data-longest]").forEach(count);
    root.querySelectorAll("time[data-day]").forEach((time) => {
      const at = new Date(time.dateTime);
      time.removeAttribute("data-day");
      time.textContent = days.format(at);
      time.title = moments.format(at);
    });
    root.querySelectorAll("[data-gone]").forEach((row) => {
      row.removeAttribute("data-gone");
      setTimeout(() => leave(row), GONE_MS);
    });
    root.querySelectorAll("[data-brief]").forEach((line) => {
      line.removeAttribute("data-brief");
      const box = line.parentElement;
      setTimeout(() => line.isConnected && box.replaceChildren(), box.querySelector("form") ? GONE_MS : BRIEF_MS);
    });
    offer();
  };

  // ── a row in which somebody writes outlives a search ──
  let written = [];
  document.addEventListener("htmx:before:swap", (event) => {
    written = event.detail.ctx.sourceElement.id === "find" ? [...document.querySelectorAll("li.editing")] : [];
  });
  const keep = () => {
    written.splice(0).forEach((row) => {
      const found = document.getElementById(row.id);
      if (found) found.replaceWith(row);
      else document.getElementById("rows").prepend(row);
    });
  };

  document.addEventListener("DOMContentLoaded", () => look(document));
  document.addEventListener("htmx:after:swap", () => {
    keep();
    look(document);
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("textarea[data-longest]")) count(event.target);
  });
  document.addEventListener("change", (event) => {
    if (event.target.name === "chosen") offer();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-sure]");
    if (button && !window.confirm(button.dataset.sure)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const form = event.target.closest("form.edit");
    if (form) form.querySelector("[data-cancel]").click();
  });

  // ── what went wrong stands beside what caused it, and goes when it is tried again ──
  document.addEventListener("htmx:before:request", (event) => {
    const form = event.target.closest("form");
    if (form) form.querySelectorAll("p.wrong, span.wrong").forEach((line) => line.replaceChildren());
  });
  document.addEventListener("htmx:error", (event) => {
    if (!event.detail || !event.detail.ctx) return;
    const form = event.target.closest("form");
    const line = form && form.querySelector("p.wrong, span.wrong");
    if (line) line.textContent = document.body.dataset.away;
    else if (notice()) {
      const said = document.createElement("p");
      said.textContent = document.body.dataset.away;
      notice().replaceChildren(said);
    }
    const box = form && form.querySelector('input[role="switch"]');
    if (box) box.checked = !box.checked;
  });
})();
