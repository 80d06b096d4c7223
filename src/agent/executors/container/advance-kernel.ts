import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FENCED } from '../executor.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import * as directory from '../kernels/kernel-directory.ts'
import { isAlive, parseProcStat, startedAtSeconds, uptimeSeconds } from '../process/proc-stat.ts'
import { readClocks } from '../time-limit.ts'
import { concludeKernel } from './conclude-kernel.ts'
import type { ContainerHost } from './container-host.ts'
import { type ContainerKernel, containerName } from './container-kernel.ts'
import {
  AGENT_LABEL,
  ASSIGNMENT_LABEL,
  type CreateBody,
  EngineError,
  EngineSilentError,
  KERNEL_LABEL,
} from './engine/engine-client.ts'
import type { ContainerDescription } from './engine/engine-answers.ts'
import { cdiDevices } from './engine/podman-spec.ts'
import { namedByIndex } from './container-gpus.ts'
import { isOver, isUnknownDevice, isUnstarted, refusedProgram, withAdvice } from './judge-container.ts'
import { note } from './launch-kernel.ts'

const ASK_AGAIN_MS = 1_000
/** How long Podman's monitor may take to report how its container has ended. */
const LOST_AFTER_MS = 30_000

/**
 * Moves a kernel on, step by step, until its directory agrees with what the engine reports. It is called again whenever
 * either may have changed. Its actions depend only on these two, so it continues where an earlier instance stopped.
 */
export async function advanceKernel(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  kernel.askAt = Number.POSITIVE_INFINITY
  try {
    if (kernel.phase === 'LAUNCHING') await launch(host, kernel)
    else if (kernel.phase === 'RUNNING') await look(host, kernel)
  } catch (error) {
    if (hasEnded(kernel)) return
    if (!(error instanceof EngineSilentError)) {
      host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'a container could not be handled')
    }
    kernel.askAt = performance.now() + ASK_AGAIN_MS
    if (kernel.phase === 'LAUNCHING') note(host, kernel, 'the container engine does not answer')
  }
}

async function launch(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  if (kernel.containerId === null) await host.limit(() => createAndClaim(host, kernel))
  const { containerId } = kernel
  if (containerId === null || kernel.phase !== 'LAUNCHING' || host.registry.closed) return
  const found = await host.limit(() => startOnce(host, kernel, containerId))
  if (found === null || kernel.phase !== 'LAUNCHING' || host.registry.closed) return
  if (!(await hasDevices(host, kernel, found))) return
  // Without this line, a keeper knows the container by its id alone.
  const stat = found.pid > 0 ? statLine(found.pid) : ''
  kernel.first = parseProcStat(stat)
  noteBeginning(kernel, found)
  appendStatus(kernel, `began ${stat}\nclocks ${kernel.clocks!.uptime} ${kernel.clocks!.wallMs}`)
  kernel.launchedAt = performance.now()
  host.registry.began(kernel, (found.startedAt ?? new Date()).toISOString())
  host.wake()
  if (isOver(found)) await concludeKernel(host, kernel, found)
}

/** Records the beginning as the engine reports it, if the first process was not seen. */
function noteBeginning(kernel: ContainerKernel, { startedAt }: ContainerDescription): void {
  const now = readClocks()
  const agoSeconds = startedAt === null ? 0 : Math.max(0, now.wallMs - startedAt.getTime()) / 1000
  const uptime = kernel.first === null ? now.uptime - agoSeconds : startedAtSeconds(kernel.first)
  kernel.clocks = { uptime, wallMs: now.wallMs - Math.round((now.uptime - uptime) * 1000) }
  kernel.beganAt = uptime
}

/**
 * Whether the container has the devices that it needs. Podman has been seen to omit devices, so that the program would
 * run without them. It reports its devices once the container has begun.
 */
async function hasDevices(
  { engine, registry }: ContainerHost,
  kernel: ContainerKernel,
  { id, devices }: ContainerDescription,
) {
  const { Devices = [] } = kernel.body!.HostConfig as { Devices?: unknown[] }
  const wanted = cdiDevices(kernel.body!).length === 0 ? 0 : Devices.length
  if (devices >= wanted) return true
  await engine.remove(id)
  registry.fail(kernel, 'executor-failed', `it is to have ${wanted} GPUs, and its container has ${devices} devices`)
  return false
}

/** Creates the container and sets `containerId`, unless the kernel has ended instead. */
async function createAndClaim(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  if (kernel.phase !== 'LAUNCHING' || host.registry.closed) return
  const containerId = await createContainer(host, kernel)
  if (containerId === null) return
  // A stop before this point has claimed the start itself, and the container never runs.
  if (!directory.claimStatus(kernel.path, `claimed ${containerId}`)) return host.engine.remove(containerId)
  kernel.containerId = containerId
}

async function createContainer(host: ContainerHost, kernel: ContainerKernel, hasImage = false): Promise<string | null> {
  const { engine, registry } = host
  const body = { ...kernel.body!, HostConfig: { ...kernel.body!.HostConfig, Init: host.hasInit } } satisfies CreateBody
  try {
    return await engine.create(containerName(kernel), body)
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    if (error.status === 409 || /already in use/.test(error.message)) return adopt(host, kernel)
    if (noInit(host, error)) return createContainer(host, kernel, hasImage)
    if (/no such image|image not known/i.test(error.message)) {
      if (!hasImage && (await fetchAgain(host, kernel))) return createContainer(host, kernel, true)
      registry.fail(kernel, 'image-not-found', `its image was removed before it began: ${error.message}`)
    } else registry.fail(kernel, 'executor-failed', `its container could not be created: ${withAdvice(error.message)}`)
    return null
  }
}

/** @returns whether Podman does not know the kernel's GPUs by their UUIDs, and is now asked for their indexes */
function nameByIndex({ gpus }: ContainerHost, kernel: ContainerKernel, { message }: EngineError): boolean {
  const body = isUnknownDevice(message) ? namedByIndex(gpus, kernel.body!) : null
  if (body !== null) kernel.body = body
  return body !== null
}

/**
 * Pulls the kernel's image again, because it has been removed meanwhile, for example by a prune. @returns whether the
 * same image exists now
 */
async function fetchAgain({ images, options }: ContainerHost, { spec, image }: ContainerKernel): Promise<boolean> {
  const request = { name: spec.image ?? options.image!, digest: image!.digest, policy: options.pull }
  const found = await images.resolve(request, () => undefined)
  return 'id' in found && found.id === image!.id
}

/** Finds the container of an earlier call whose answer was lost. */
async function adopt(host: ContainerHost, kernel: ContainerKernel): Promise<string | null> {
  const found = await host.engine.inspect(containerName(kernel))
  if (found === null) throw new Error('its container is being removed')
  const { [AGENT_LABEL]: agentId, [KERNEL_LABEL]: kernelId, [ASSIGNMENT_LABEL]: assignment } = found.labels
  if (agentId === host.agentId && kernelId === kernel.id && assignment === String(kernel.assignment)) {
    kernel.maybeStarted = true
    return found.id
  }
  host.registry.fail(kernel, 'executor-failed', `there is another container ${containerName(kernel)}`)
  return null
}

/** @returns the container, which has begun; null if the kernel has ended instead */
async function startOnce(
  host: ContainerHost,
  kernel: ContainerKernel,
  containerId: string,
): Promise<ContainerDescription | null> {
  if (kernel.phase !== 'LAUNCHING' || host.registry.closed) return null
  const { engine, registry } = host
  let found = kernel.maybeStarted ? await engine.inspect(containerId) : null
  if (kernel.maybeStarted && found === null) {
    await concludeKernel(host, kernel, null)
    return null
  }
  if (found === null || isUnstarted(found)) {
    if (isFenced(host)) registry.stop(kernel, 0, FENCED)
    if (kernel.killAt !== null) {
      await engine.remove(containerId)
      registry.endBeforeRunning(kernel, kernel.stopError)
      return null
    }
    const refused = await start(host, kernel, containerId)
    found = await engine.inspect(containerId)
    if (refused !== null && (found === null || isUnstarted(found) || found.startedAt === null)) {
      await refuse(host, kernel, refused)
      return null
    }
  }
  if (found !== null) return found
  await concludeKernel(host, kernel, null)
  return null
}

async function start(host: ContainerHost, kernel: ContainerKernel, containerId: string): Promise<EngineError | null> {
  // If neither this nor the next request is answered, it is not started again before it is certain that it never
  // started.
  kernel.maybeStarted = true
  try {
    await host.engine.start(containerId)
    return null
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    kernel.maybeStarted = false
    return error
  }
}

async function refuse(host: ContainerHost, kernel: ContainerKernel, error: EngineError): Promise<void> {
  const missing = refusedProgram(error.message)
  if (noInit(host, error) || nameByIndex(host, kernel, error)) {
    await host.engine.remove(kernel.containerId!)
    // The container cannot have run, and cannot be started later, because it has been removed. So another one is
    // created and claimed.
    directory.dropClaim(kernel.path)
    kernel.containerId = null
    host.advance(kernel)
  } else if (missing !== null) host.registry.fail(kernel, 'command-not-found', missing)
  else host.registry.fail(kernel, 'executor-failed', `its container could not be started: ${withAdvice(error.message)}`)
}

/** @returns whether the engine lacks the init program, which is then no longer requested */
function noInit(host: ContainerHost, { message }: EngineError): boolean {
  if (!host.hasInit || !/docker-init|container-init binary|catatonit/.test(message)) return false
  host.hasInit = false
  host.log.warn(
    { error: message },
    'the container engine has no init program (packages tini, catatonit): programs that do not handle SIGTERM themselves are killed after the grace period',
  )
  return true
}

async function look(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  if (kernel.ending !== null || kernel.containerId === null) return
  const found = await host.engine.inspect(kernel.containerId)
  if (hasEnded(kernel) || host.registry.closed) return
  if (found === null || isOver(found)) return concludeKernel(host, kernel, found)
  if (await isLost(host, kernel, found)) await concludeKernel(host, kernel, { ...found, exitCode: null })
}

/** Whether Podman reports the container as running for ever because its monitor was killed. */
async function isLost({ engine }: ContainerHost, kernel: ContainerKernel, { id }: ContainerDescription) {
  if (kernel.first === null || isAlive(kernel.first)) return false
  kernel.goneAt ??= performance.now()
  if (performance.now() - kernel.goneAt < LOST_AFTER_MS) return false
  return !(await engine.kill(id, 'SIGCONT'))
}

function appendStatus({ path }: ContainerKernel, line: string): void {
  appendFileSync(join(path, 'status'), `${line}\n`)
}

/** Returns an empty text if the process is gone. */
function statLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').trim()
  } catch {
    return ''
  }
}

/** Whether the fence has passed: the agent may have been suspended since the last answer of the server. */
function isFenced({ agentDir, bootId }: ContainerHost): boolean {
  try {
    const [until, boot] = readFileSync(join(agentDir, 'fence'), 'latin1').trim().split(' ')
    return boot === bootId && uptimeSeconds() >= Number(until)
  } catch {
    return false
  }
}
