/** Where to go on after the login. */
export interface LoginSearch {
  to?: string
}

/** Only a path of this server. Anything else is named as missing, or the router would keep it as it was given. */
export function readLoginSearch({ to }: Record<string, unknown>): LoginSearch {
  const isPath = typeof to === 'string' && /^\/(?![/\\])/.test(to) && !to.startsWith('/login')
  return { to: isPath ? to : undefined }
}
