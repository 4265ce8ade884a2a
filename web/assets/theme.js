// Light or dark: the system's setting, until the user chooses.

const stored = 'mcptap.theme';

const remembered = () => {
  try {
    return localStorage.getItem(stored);
  } catch {
    return null;
  }
};

/** Applies the saved choice. */
export function startTheme() {
  const chosen = remembered();
  if (chosen) document.documentElement.dataset.theme = chosen;
}

/** Switches between light and dark. */
export function toggleTheme() {
  const root = document.documentElement;
  const dark = (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  root.dataset.theme = dark ? 'light' : 'dark';
  try {
    localStorage.setItem(stored, root.dataset.theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}
