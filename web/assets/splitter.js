// The bar between the list and the panel. Dragging and the arrow keys move it.

import { h } from './dom.js';

const stored = 'mcptap.detail';

/** panel is next to the bar, or below it on a narrow page. */
export function splitter(panel, moved) {
  const bar = h('div', { class: 'splitter', role: 'separator', tabindex: '0', 'aria-orientation': 'vertical', 'aria-label': 'Size of the panel', 'aria-valuemin': '20', 'aria-valuemax': '80' });
  let share = innerHeight <= 520 ? 60 : 44; // in a low window the panel needs more room
  try {
    share = Number(localStorage.getItem(stored)) || share;
  } catch {
    // Storage may be disabled.
  }
  const set = (v) => {
    share = Math.min(Math.max(v, 20), 80);
    panel.style.flexBasis = share + '%';
    bar.setAttribute('aria-valuenow', Math.round(share));
    try {
      localStorage.setItem(stored, share);
    } catch {
      // Storage may be disabled.
    }
    moved();
  };
  panel.style.flexBasis = share + '%';
  bar.setAttribute('aria-valuenow', Math.round(share));
  bar.addEventListener('pointerdown', (e) => {
    bar.setPointerCapture(e.pointerId);
    const box = bar.parentElement.getBoundingClientRect();
    const across = getComputedStyle(bar.parentElement).flexDirection === 'row';
    const drag = (m) => set(across ? ((box.right - m.clientX) / box.width) * 100 : ((box.bottom - m.clientY) / box.height) * 100);
    bar.addEventListener('pointermove', drag);
    bar.addEventListener('pointerup', () => bar.removeEventListener('pointermove', drag), { once: true });
    e.preventDefault();
  });
  bar.addEventListener('keydown', (e) => {
    const step = { ArrowLeft: 4, ArrowUp: 4, ArrowRight: -4, ArrowDown: -4 }[e.key];
    if (!step) return;
    set(share + step);
    e.preventDefault();
    e.stopPropagation();
  });
  return bar;
}
