import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import type { RemoteFleet } from '../remote/remote-fleet.ts'

const PROGRAM = join(import.meta.dirname, '../../support/programs/served.mjs')

export interface SeenRoute {
  id: string
  revision: number
  status: string
  host: string
  port: number
  agent: string | null
  published: boolean
}

export interface SeenDeployment {
  status: string
  reason: string | null
  failures: number
  /** Returns the routes that have not ended. */
  routes: SeenRoute[]
}

interface Answer {
  version: string
  pid: number
  port: number
}

/** A deployment of `served.mjs`, checked several times a second. */
export interface WatchedDeployment {
  readonly id: string
  scale(replicas: number): Promise<void>
  update(version: string, command?: string[]): Promise<void>
  destroy(): Promise<void>
  look(): Promise<SeenDeployment>
  /** Returns the endpoints that REST reports. */
  endpoints(): Promise<{ host: string; port: number }[]>
  until(what: string, fits: (seen: SeenDeployment) => boolean, withinMs?: number): Promise<SeenDeployment>
  /** Ready, with so many healthy routes that clients are sent to, and no others. */
  settled(replicas: number): Promise<SeenRoute[]>
  /** Asks the program of a route about itself. */
  ask(route: Pick<SeenRoute, 'host' | 'port'>): Promise<Answer>
  /** From now on the programs with this pid do so: `500`, `hang`, `exit`; `all` for those of which nothing is said. */
  tell(pid: number | 'all', how: string): Promise<void>
  /** What history says of a route, or of the deployment: `handler: from → to`, or `handler: in status`. */
  story(entityId?: string): Promise<string[]>
}

export async function watchedDeployment(
  fleet: RemoteFleet,
  input: {
    name: string
    replicas: number
    command?: string[]
    minHealthy?: number
    maxSurge?: number
    drain?: number
    /** What only is slow, as on a busy machine, is not given up. */
    patient?: boolean
  },
): Promise<WatchedDeployment> {
  const directory = await temporaryDirectory('told')
  const { command: ownCommand, drain = 0.3, patient = false, ...rest } = input
  const change = async (name: string, given: object) => {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
    const answer = await fleet.graphql(
      `mutation ($input: ${type}Input!) { ${name}(input: $input) {
         ... on ${type}Payload { deployment { deploymentId } } ... on Error { message } } }`,
      { input: given },
    )
    const { deployment: changed, message } = answer[name]
    if (!changed) throw new Error(`${name}: ${message}`)
    return changed.deploymentId as string
  }
  const commandOf = (version: string) => [process.execPath, PROGRAM, directory, version]
  const id = await change('createDeployment', {
    ...rest,
    command: ownCommand ?? commandOf('1'),
    resourceSlots: [{ slot: 'cpu', amount: '0.1' }],
    healthCheck: {
      path: '/health',
      interval: 0.25,
      timeout: patient ? 5 : 3,
      unhealthyThreshold: patient ? 10 : 2,
      staleAfter: patient ? 20 : 10,
    },
    startTimeout: 30,
    evictAfter: patient ? 20 : 5,
    drain,
  })

  const deployment: WatchedDeployment = {
    id,
    async scale(replicas) {
      await change('scaleDeployment', { deploymentId: id, replicas })
    },
    async update(version, command = commandOf(version)) {
      await change('updateDeployment', { deploymentId: id, command })
    },
    async destroy() {
      await change('destroyDeployment', { deploymentId: id })
    },
    async look() {
      const [seen] = await fleet.sql(`SELECT d.status, d.status_reason AS reason, d.failures,
        (SELECT coalesce(json_agg(json_build_object('id', r.id, 'revision', r.revision, 'status', r.status, 'host', r.host,
            'port', r.port, 'published', r.published_at IS NOT NULL, 'agent', a.name) ORDER BY r.id), '[]')
          FROM routes r LEFT JOIN kernels k ON k.session_id = r.session_id LEFT JOIN agents a ON a.id = k.agent_id
          WHERE r.deployment_id = d.id AND r.status <> 'TERMINATED') AS routes
        FROM deployments d WHERE d.id = '${id}'`)
      return seen as SeenDeployment
    },
    endpoints: async () => (await fleet.rest(`/v2/deployments/${id}/endpoints`)).items,
    async until(what, fits, withinMs = 120_000) {
      let seen: SeenDeployment | undefined
      const look = async () => fits((seen = await deployment.look())) && seen
      return eventually(look, { withinMs, what }).catch(async (error: Error) => {
        const story = (await deployment.story()).join('\n')
        throw new Error(
          `${error.message}\n${JSON.stringify(seen, null, 1)}\n${story}\n${fleet.server.log.slice(-20).join('\n')}`,
        )
      })
    },
    async settled(replicas) {
      const fits = ({ status, routes }: SeenDeployment) =>
        status === 'READY' && routes.length === replicas && routes.every(({ published }) => published)
      return (await deployment.until(`${replicas} replicas are served`, fits)).routes
    },
    async ask({ host, port }) {
      const answer = await fetch(`http://${host}:${port}/`, { signal: AbortSignal.timeout(5_000) })
      return (await answer.json()) as Answer
    },
    async tell(pid, how) {
      await writeFile(join(directory, String(pid)), how)
    },
    async story(entityId = id) {
      const rows = await fleet.sql(`SELECT phase, from_status AS "from", to_status AS "to", result, message
        FROM scheduling_history WHERE entity_id = '${entityId}' ORDER BY id`)
      return rows.map(({ phase, from, to, result, message }) => {
        const where = from === to ? `in ${to}` : `${from ?? 'new'} → ${to}`
        return `${phase} ${result} ${where}${message === null ? '' : `: ${message}`}`
      })
    },
  }
  return deployment
}

/** Returns whether a process with this pid runs. */
export async function runs(pid: number): Promise<boolean> {
  return (await readdir('/proc')).includes(String(pid))
}
