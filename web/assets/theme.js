// Light or dark: what the system says, until somebody chooses.

const stored = 'mcptap.theme';

const remembered = () => {
  try {
    return localStorage.getItem(stored);
  } catch {
    return null;
  }
};

/** Applies what was chosen before. */
export function startTheme() {
  const chosen = remembered();
  if (chosen) document.documentElement.dataset.theme = chosen;
}

/** Changes to the other one. */
export function toggleTheme() {
  const root = document.documentElement;
  const dark = (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  root.dataset.theme = dark ? 'light' : 'dark';
  try {
    localStorage.setItem(stored, root.dataset.theme);
  } catch {
    // It lasts as long as the page, then.
  }
}
