import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { agentOptions, startPatiently } from './agent-options.ts'
import { createAgent } from '../agent/agent.ts'
import { createHttpGateway } from '../agent/http-gateway.ts'
import { EXIT_OK, stopInTime, stopSignal, withConfig } from './command.ts'
import { ConfigurationError, type Config } from './config.ts'
import type { Warning } from '../domain/warning.ts'

/** Errors that another try does not solve: the configuration has to be corrected. */
const REFUSALS = ['UNAUTHENTICATED', 'FORBIDDEN', 'VALIDATION_FAILED', 'RESOURCE_GROUP_NOT_FOUND'] as const

/** Runs kernels for remote servers until a signal to stop; returns the exit status. */
export async function runAgent(environment: NodeJS.ProcessEnv, version: string): Promise<number> {
  return withConfig(environment, async (config, log) => {
    const stopping = stopSignal()
    const gateway = createHttpGateway({ ...(await connectionOf(config)), log })
    let ready = false
    const started = new AbortController()
    void stopping.then(() => started.abort())
    const start = async () => {
      const found = await agentOptions(config, version, log)
      const warnings = [...ofTransport(config.serverUrls), ...(found.warnings ?? [])]
      for (const { text } of warnings) log.warn(text)
      const made = createAgent({
        ...found,
        warnings,
        gateway,
        dial: gateway.dial,
        fatalErrors: REFUSALS,
        onRegistered() {
          if (!ready) console.log(`reprise agent ready ${gateway.url}`)
          ready = true
        },
      })
      await made.start()
      return made
    }
    const agent = await startPatiently(start, { log, signal: started.signal })
    if (agent === null) return EXIT_OK
    const ended = await Promise.race([stopping, agent.done.catch((error: unknown) => refused(error, gateway.url))])
    if (ended === 'superseded') {
      throw new ConfigurationError([
        `another process has registered as the agent of ${join(resolve(config.dataDir), 'agent')}: it is a copy, or one too many`,
      ])
    }
    log.info(`${ended}: stopping`)
    await stopInTime(() => agent.stop(), log)
    log.info('stopped; kernels that run go on, and the next start finds them')
    return EXIT_OK
  })
}

function refused(error: unknown, url: string): never {
  const { code, message } = error as { code?: unknown; message: string }
  if (!REFUSALS.some((refusal) => refusal === code)) throw error
  throw new ConfigurationError([`${url} refuses this agent (${String(code)}): ${message}`])
}

/** @throws ConfigurationError */
async function connectionOf(config: Config): Promise<{ urls: string[]; token: string }> {
  const { serverUrls: urls, token: given, tokenFile } = config
  const faults: string[] = []
  if (urls.length === 0) faults.push('REPRISE_SERVER_URL (--server): which server?')
  const token = given ?? (tokenFile === undefined ? undefined : await readToken(tokenFile, faults))
  if (token === undefined && tokenFile === undefined) {
    faults.push('REPRISE_TOKEN (--token) or REPRISE_TOKEN_FILE (--token-file): which token?')
  }
  if (faults.length > 0) throw new ConfigurationError(faults)
  return { urls, token: token! }
}

async function readToken(path: string, faults: string[]): Promise<string | undefined> {
  try {
    const token = (await readFile(path, 'utf8')).trim()
    if (/^\S+$/.test(token)) return token
    faults.push(`REPRISE_TOKEN_FILE (--token-file): ${path} holds no token`)
  } catch (error) {
    faults.push(`REPRISE_TOKEN_FILE (--token-file): ${(error as Error).message}`)
  }
  return undefined
}

function ofTransport(urls: readonly string[]): Warning[] {
  if (!urls.some(isInTheClear)) return []
  const text =
    'its token and all output of its kernels travel to a server unencrypted: use https:// in REPRISE_SERVER_URL'
  return [{ kind: 'transport', text }]
}

function isInTheClear(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}
