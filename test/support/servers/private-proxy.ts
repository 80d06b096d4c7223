import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fixedPort } from '../agents/fixed-port.ts'
import { findProgram } from '../distribution.ts'
import { eventually } from '../eventually.ts'
import { isListening } from './is-listening.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PAIR = join(ROOT, 'test/support/tls/first')

export type ProxyKind = 'haproxy' | 'nginx'

/** Replacements in each example: its paths and addresses, by those of this machine. */
interface Setup {
  example: string
  /** The text in the example, and its replacement. */
  changes: (place: { directory: string; port: number; servers: readonly string[] }) => [from: string, to: string][]
  /** Around the example, where that is a part. */
  whole: (text: string, directory: string) => string
  check: (file: string) => string[]
  run: (file: string) => string[]
}

const SETUPS: Readonly<Record<ProxyKind, Setup>> = {
  haproxy: {
    example: 'docs/operation/haproxy.cfg',
    changes: ({ directory, port, servers }) => [
      [':443 ', `127.0.0.1:${port} `],
      ['/etc/haproxy/reprise.pem', join(directory, 'reprise.pem')],
      ['10.0.0.11:4000', servers[0]!],
      ['10.0.0.12:4000', servers[1]!],
    ],
    whole: (text) => text,
    check: (file) => ['-c', '-f', file],
    run: (file) => ['-db', '-f', file],
  },
  nginx: {
    example: 'docs/operation/nginx.conf',
    changes: ({ directory, port, servers }) => [
      ['listen 443 ', `listen 127.0.0.1:${port} `],
      ['/etc/nginx/reprise.crt', join(directory, 'reprise.crt')],
      ['/etc/nginx/reprise.key', join(directory, 'reprise.key')],
      ['/var/log/nginx/reprise.log', join(directory, 'access.log')],
      ['10.0.0.11:4000', servers[0]!],
      ['10.0.0.12:4000', servers[1]!],
    ],
    whole: (text, directory) =>
      [
        'daemon off;',
        `pid ${directory}/nginx.pid;`,
        'events {}',
        'http {',
        ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
          (name) => `${name}_temp_path ${directory}/${name};`,
        ),
        text,
        '}',
      ].join('\n'),
    check: (file) => ['-t', '-q', '-e', 'stderr', '-c', file],
    run: (file) => ['-e', 'stderr', '-c', file],
  },
}

export interface PrivateProxy extends AsyncDisposable {
  url: string
  /** The output of the program when it only checks the example. */
  verdict: { status: number | null; told: string }
}

/** The example of the documentation, run in front of two servers, with a certificate of the tests. */
export async function privateProxy(options: {
  kind: ProxyKind
  directory: string
  /** Host and port of each. */
  servers: readonly string[]
  /** In place of a minute. */
  timeout: string
}): Promise<PrivateProxy> {
  const { kind, directory, servers } = options
  const setup = SETUPS[kind]
  await mkdir(directory, { recursive: true })
  const [certificate, key] = await Promise.all(['cert', 'key'].map((part) => readFile(`${PAIR}.${part}.pem`, 'utf8')))
  await writeFile(join(directory, 'reprise.pem'), `${certificate}${key}`)
  await copyFile(`${PAIR}.cert.pem`, join(directory, 'reprise.crt'))
  await copyFile(`${PAIR}.key.pem`, join(directory, 'reprise.key'))
  const port = await fixedPort()
  let text = await readFile(join(ROOT, setup.example), 'utf8')
  for (const [from, to] of [...setup.changes({ directory, port, servers }), ['60s', options.timeout] as const]) {
    if (!text.includes(from)) throw new Error(`${setup.example} has no ${from}`)
    text = text.replaceAll(from, to)
  }
  const file = join(directory, 'proxy.conf')
  await writeFile(file, setup.whole(text, directory))
  const checked = start(kind, setup.check(file))
  const [status] = (await once(checked.child, 'close')) as [number | null]
  const { child, told } = start(kind, setup.run(file))
  const ended = once(child, 'exit')
  const url = `https://127.0.0.1:${port}`
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(told())
    return isListening(port)
  })
  return {
    url,
    verdict: { status, told: checked.told() },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function start(kind: ProxyKind, args: string[]) {
  const child = spawn(findProgram(kind)!, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return { child, told: () => text }
}
