/** Where a server listens; port 0 means any free port. */
export interface ListenAddress {
  host: string
  port: number
}

/** Whether only this machine can connect to the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

/** The cause in words, with what to do about it. */
export function whyNotListening({ host, port }: ListenAddress, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE')
    return `port ${port} of ${host} is in use: set REPRISE_PORT to another, or to 0 for a free one`
  if (code === 'EACCES') return `port ${port} needs more rights than this user has: set REPRISE_PORT to one above 1023`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `this machine has no address ${host}: set REPRISE_HOST`
  return `cannot listen on ${host}:${port}: ${message}`
}
