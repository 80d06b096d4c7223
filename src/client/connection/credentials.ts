/** How a server knows who asks; read anew whenever something is sent. */
export interface Credentials {
  /** Headers of each request. */
  headers(): Record<string, string>
  /** Parameters of each WebSocket. */
  parameters(): Record<string, string>
}

export function credentialsOf({
  token,
  browserKey,
}: {
  token: string | undefined
  browserKey?: (() => string | null) | undefined
}): Credentials {
  if (token !== undefined) {
    const own = { authorization: `Bearer ${token}` }
    return { headers: () => own, parameters: () => own }
  }
  const named = (name: string) => {
    const key = browserKey?.() ?? null
    return key === null ? {} : { [name]: key }
  }
  return { headers: () => named('x-reprise-browser-key'), parameters: () => named('browserKey') }
}
