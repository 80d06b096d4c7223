/** Client settings from the environment. All are optional. */
export interface ClientEnvironment {
  url: string | undefined
  token: string | undefined
  profile: string | undefined
  dataDir: string
  connectSeconds: number | undefined
  readSeconds: number | undefined
  httpTotal: number | undefined
  networkSeconds: number | undefined
}

interface Variable {
  name: `REPRISE_${string}`
  meaning: string
  default: string
}

/** The rows of the variable table in docs/client.md. */
export const CLIENT_VARIABLES = [
  { name: 'REPRISE_URL', default: 'of the profile', meaning: 'URL of the server; several are separated by commas.' },
  { name: 'REPRISE_TOKEN', default: 'of the profile', meaning: 'Token.' },
  { name: 'REPRISE_PROFILE', default: 'the current one', meaning: 'Profile that gives URL and token.' },
  { name: 'REPRISE_CONNECT_TIMEOUT', default: '3', meaning: 'Seconds to wait for a connection; 0: no limit.' },
  { name: 'REPRISE_READ_TIMEOUT', default: '20', meaning: 'Seconds that a server may be silent; 0: no limit.' },
  {
    name: 'REPRISE_HTTP_RETRIES',
    default: '3',
    meaning: 'Retries after responses 429, 500, 502, 503 and 504; 0: none.',
  },
  {
    name: 'REPRISE_NETWORK_RETRY_SECONDS',
    default: '60',
    meaning: 'Seconds for which an operation without a response is repeated; 0: not at all.',
  },
] as const satisfies readonly Variable[]

/**
 * Reads the variables. An empty value counts as not set. `onWarning` is called for values that should be numbers and
 * are not.
 */
export function readEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  onWarning: (text: string) => void,
): ClientEnvironment {
  type Name = (typeof CLIENT_VARIABLES)[number]['name'] | 'REPRISE_DATA_DIR'
  const text = (name: Name) => environment[name]?.trim() || undefined
  const number = (name: Name) => {
    const written = text(name)
    if (written === undefined) return undefined
    if (/^\d+(\.\d+)?$/.test(written)) return Number(written)
    onWarning(`${name} is ${JSON.stringify(written)}, which is not a number; the default is used`)
    return undefined
  }
  return {
    url: text('REPRISE_URL'),
    token: text('REPRISE_TOKEN'),
    profile: text('REPRISE_PROFILE'),
    dataDir: text('REPRISE_DATA_DIR') ?? '.reprise',
    connectSeconds: number('REPRISE_CONNECT_TIMEOUT'),
    readSeconds: number('REPRISE_READ_TIMEOUT'),
    httpTotal: number('REPRISE_HTTP_RETRIES'),
    networkSeconds: number('REPRISE_NETWORK_RETRY_SECONDS'),
  }
}
