import { accessSync, constants, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** The result of one check of `reprise doctor`. */
export interface Finding {
  what: string
  state: 'ok' | 'warning' | 'fault' | 'skipped'
  found: string
  /** Tells the user what to do. */
  advice?: string
}

/**
 * Time limit for a response. Podman starts its service at the first request, which takes some seconds on a busy
 * machine.
 */
const ANSWER_WITHIN_MS = 20_000
const WHAT = 'container engine'

/**
 * Looks for the engine that an agent with `--executor container` would use, and for missing abilities of that engine.
 */
export async function checkContainerEngine(environment: NodeJS.ProcessEnv): Promise<Finding> {
  const named = environment['REPRISE_CONTAINER_ENGINE']
  const isWanted = named !== undefined || environment['REPRISE_EXECUTOR'] === 'container'
  const faults: string[] = []
  for (const socket of sockets(named, environment)) {
    const fault = socketFault(socket)
    if (fault === null) return describe(socket)
    if (fault !== 'does not exist' || named !== undefined) faults.push(`${socket}: ${fault}`)
  }
  if (faults.length === 0 && !isWanted) {
    return { what: WHAT, state: 'skipped', found: 'none here; only agents with --executor container need one' }
  }
  const found = faults.join('; ') || 'none here'
  return { what: WHAT, state: isWanted ? 'fault' : 'warning', found, advice: adviceFor(found) }
}

function sockets(named: string | undefined, environment: NodeJS.ProcessEnv): string[] {
  if (named !== undefined) return [named.replace(/^unix:\/\//, '')]
  const runtimeDir = environment['XDG_RUNTIME_DIR']
  const own = runtimeDir === undefined ? [] : [join(runtimeDir, 'podman/podman.sock')]
  return ['/var/run/docker.sock', ...own, '/run/podman/podman.sock']
}

function socketFault(path: string): string | null {
  try {
    if (!statSync(path).isSocket()) return 'no socket'
    accessSync(path, constants.R_OK | constants.W_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? 'does not exist' : code === 'EACCES' ? 'this user may not use it' : String(code)
  }
}

function adviceFor(found: string): string {
  if (found.includes('may not use it')) {
    return 'Run the agent as root, or give it an engine of its own user: systemctl --user start podman.socket'
  }
  return 'Start Docker, or Podman with `podman system service --time=0`, and name its socket in REPRISE_CONTAINER_ENGINE.'
}

interface Version {
  Version?: string
  Components?: { Name?: string }[] | null
}

interface Info {
  InitBinary?: string
  LiveRestoreEnabled?: boolean
  SecurityOptions?: string[] | null
  /** Whether the engine is rootless; only Podman has this field. */
  Rootless?: boolean
  CgroupVersion?: string
}

/** The response of Podman's own API, which lists the controllers that it can use. */
interface PodmanInfo {
  host?: { cgroupControllers?: string[] | null }
}

async function describe(socket: string): Promise<Finding> {
  try {
    const [version, info] = await Promise.all([ask<Version>(socket, '/version'), ask<Info>(socket, '/info')])
    const found = judge(socket, version, info)
    return found.state === 'ok' && info.Rootless === true ? await judgeLimits(socket, found, info) : found
  } catch (error) {
    const found = `${socket} does not respond: ${(error as Error).message}`
    return { what: WHAT, state: 'fault', found, advice: 'Restart it, and look at its log.' }
  }
}

function judge(socket: string, { Version: version = '?', Components: parts }: Version, info: Info): Finding {
  const isPodman = (parts ?? []).some(({ Name: name = '' }) => name.startsWith('Podman'))
  const options = info.SecurityOptions ?? []
  const has = (option: string) =>
    options.some((each) => each === `name=${option}` || each.startsWith(`name=${option},`))
  const rootless = has('rootless') || info.Rootless === true
  const found = `${isPodman ? 'Podman' : 'Docker'} ${version}${rootless ? ', rootless,' : ''} at ${socket}`
  const finding = (state: Finding['state'], lacks: string, advice: string): Finding => {
    return { what: WHAT, state, found: `${found}, ${lacks}`, advice }
  }
  if (has('userns')) {
    return finding(
      'fault',
      'remaps users',
      'An agent refuses it: run it without userns-remap, or use Podman without root.',
    )
  }
  if (!rootless && process.getuid?.() !== 0) {
    return finding(
      'fault',
      'which belongs to root, but this user is not root',
      'Run the agent as root, or use a rootless engine.',
    )
  }
  if (!isPodman && info.LiveRestoreEnabled === false) {
    const advice = 'A restart of Docker ends all containers: set "live-restore": true in /etc/docker/daemon.json.'
    return finding('warning', 'without live-restore', advice)
  }
  if (!isPodman && info.InitBinary === '') {
    return finding(
      'warning',
      'without an init program',
      'Programs that do not handle SIGTERM are killed: install tini.',
    )
  }
  return { what: WHAT, state: 'ok', found }
}

/** Resources, keyed by the cgroup controller that limits them. */
const BOUNDED_BY = { memory: 'memory', cpu: 'CPU', pids: 'processes' }

/** Checks the limits: a rootless engine can only limit resources whose controllers were delegated to its user. */
async function judgeLimits(socket: string, finding: Finding, { CgroupVersion: version }: Info): Promise<Finding> {
  const { host } = await ask<PodmanInfo>(socket, '/v4.0.0/libpod/info')
  const has = new Set(host?.cgroupControllers)
  const missing = Object.entries(BOUNDED_BY).flatMap(([controller, bounded]) => (has.has(controller) ? [] : [bounded]))
  if (missing.length === 0) return finding
  return {
    ...finding,
    state: 'warning',
    found: `${finding.found}, cannot limit ${new Intl.ListFormat('en-GB').format(missing)}`,
    advice:
      version === '1'
        ? 'A kernel may use more than it requests: the limits of a rootless engine need cgroups version 2.'
        : 'A kernel may use more than it requests: delegate these controllers to the engine’s user (Delegate=).',
  }
}

function ask<Answer>(socketPath: string, path: string): Promise<Answer> {
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, headers: { host: 'engine' }, signal }, (response) => {
      text(response)
        .then((answer) => {
          if (response.statusCode !== 200) throw new Error(`${path} responds with ${response.statusCode}`)
          resolve(JSON.parse(answer) as Answer)
        })
        .catch(reject)
    })
    sent.on('error', reject)
    sent.end()
  })
}
