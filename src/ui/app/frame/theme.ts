export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const YEAR_SECONDS = 365 * 24 * 3600

export function currentTheme(): Theme {
  const { theme } = document.documentElement.dataset
  return THEMES.find((each) => each === theme) ?? 'system'
}

/** The server reads the cookie, so that the next page is painted in the right colours at once. */
export function chooseTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // oxlint-disable-next-line unicorn/no-document-cookie -- the Cookie Store API is not in all browsers
  document.cookie = `reprise_theme=${theme}; Path=/; SameSite=Lax; Max-Age=${YEAR_SECONDS}${secure}`
}
