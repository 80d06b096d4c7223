/** Where to go on after the login. */
export interface LoginSearch {
  to?: string
}

/** Only a path of this server. */
export function readLoginSearch({ to }: Record<string, unknown>): LoginSearch {
  return typeof to === 'string' && /^\/(?![/\\])/.test(to) && !to.startsWith('/login') ? { to } : {}
}
