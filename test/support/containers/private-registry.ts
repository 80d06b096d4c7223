import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fixedPort } from '../agents/fixed-port.ts'
import { findProgram, skipReason } from '../distribution.ts'
import { eventually } from '../eventually.ts'
import { runService } from '../run/run-service.ts'
import { BASE_IMAGE, type ContainerEngine } from './engines.ts'

export function whyNoRegistry(): string | null {
  const found = findProgram('docker-registry') !== null
  return skipReason('docker-registry', found ? null : 'it is not installed: apt-get install docker-registry')
}

export interface PrivateRegistry extends AsyncDisposable {
  /** host:port. Speaks plain HTTP. */
  readonly host: string
  /** It answers nobody until it goes on. */
  pause(): void
  goOn(): void
}

export const REGISTRY_USER = { username: 'reader', password: 'a password' }
/** The bcrypt hash of that password. */
const HTPASSWD = 'reader:$2b$05$sObiJRuCxC4U5L056SMtM.J9UkY81PAXq4dcY0vH81nYdO31cRI/e'

/** For REPRISE_CONTAINER_ALLOW: any image, and by name those of registries that listen on loopback. */
export const ALLOWED_IMAGES = ['*', '127.0.0.1:*/*', 'localhost/*']

/** A real registry on a loopback port, empty; it asks for a password if `locked`. */
export async function startRegistry(directory: string, { locked = false } = {}): Promise<PrivateRegistry> {
  await mkdir(directory, { recursive: true })
  const host = `127.0.0.1:${await fixedPort()}`
  const password = join(directory, 'htpasswd')
  await writeFile(password, `${HTPASSWD}\n`)
  const config = join(directory, 'config.yml')
  const lines = [
    'version: 0.1',
    'log: { level: error }',
    `storage: { filesystem: { rootdirectory: ${join(directory, 'data')} }, delete: { enabled: true } }`,
    `http: { addr: "${host}" }`,
    ...(locked ? [`auth: { htpasswd: { realm: test, path: ${password} } }`] : []),
  ]
  await writeFile(config, `${lines.join('\n')}\n`)
  const child: ChildProcess = spawn(findProgram('docker-registry')!, ['serve', config], { stdio: 'ignore' })
  await once(child, 'spawn')
  await eventually(async () => {
    const answer = await fetch(`http://${host}/v2/`).catch(() => null)
    return answer !== null && answer.status === (locked ? 401 : 200)
  })
  return {
    host,
    pause: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

const PROGRAM = join(import.meta.dirname, '../programs/shared-registry-program.ts')

/**
 * The registry that all files of a run share: each has repositories of its own there.
 *
 * @returns host:port
 */
export async function registryOfRun(runDirectory: string): Promise<string> {
  return (await runService<{ host: string }>(runDirectory, 'registry', PROGRAM)).host
}

/** Puts the base image there under a name of its own. @returns its full name */
export async function pushBase(
  engine: ContainerEngine,
  host: string,
  name: string,
  user?: typeof REGISTRY_USER,
): Promise<string> {
  const image = `${host}/${name}`
  await engine.cli('tag', BASE_IMAGE, image)
  if (user !== undefined) {
    const words = ['login', '--username', user.username, '--password', user.password]
    await engine.cli(...words, ...(engine.name === 'podman' ? ['--tls-verify=false'] : []), host)
  }
  await engine.push(image)
  if (user !== undefined) await engine.cli('logout', host)
  await engine.cli('rmi', image)
  return image
}
