import type { Client, CreateSessionInput, SessionFilter } from '../../client/node/index.ts'
import { type FilterOptions, readFilter } from './filter-options.ts'
import type { AgentOptions, InputOption } from './session-options.ts'
import { findAgent, findAgents, findChain, findSession, findSessions } from '../find.ts'
import { UsageError } from '../present-error.ts'

/** Creates the filter from options, with the ids of the named objects. @throws NotFoundError, UsageError */
export async function findFilter(client: Client, options: FilterOptions): Promise<SessionFilter | undefined> {
  const { chain, parent, onAgent } = options
  return readFilter({
    ...options,
    chain: chain && (await findChain(client, chain)),
    parent: parent && (await findSession(client, parent)),
    onAgent: onAgent && (await findAgent(client, onAgent)),
    ofUser: await findUser(client, options),
  })
}

/** Returns the name of the user whose work is meant; undefined if anybody's is. @throws UsageError */
export async function findUser(
  client: Client,
  { ofUser, mine = false }: { ofUser?: string; mine?: boolean },
): Promise<string | undefined> {
  if (!mine) return ofUser
  if (ofUser !== undefined) throw new UsageError('Give either --mine or --of-user.')
  const viewer = await client.viewer()
  if (viewer?.user) return viewer.user.name
  throw new UsageError(`The token ${viewer?.name ?? ''} has no user, so nothing is yours: --of-user names one.`)
}

/** Replaces names of agents and sessions in options by ids. @throws NotFoundError, UsageError */
export async function findNamed<Options extends AgentOptions & { dependsOn?: string[]; input?: InputOption[] }>(
  client: Client,
  options: Options,
): Promise<Options> {
  return {
    ...options,
    allowAgent: await findAgents(client, options.allowAgent),
    avoidAgent: await findAgents(client, options.avoidAgent),
    excludeAgent: await findAgents(client, options.excludeAgent),
    dependsOn: options.dependsOn && (await findSessions(client, options.dependsOn)),
    input:
      options.input &&
      (await Promise.all(options.input.map(async (each) => ({ ...each, from: await findSession(client, each.from) })))),
  }
}

/** Ids that have been looked up, each text once. A name of sessions that were just created means the newest of them. */
export interface KnownIds {
  sessions: Map<string, Promise<string>>
  agents: Map<string, Promise<string>>
}

/** Replaces names in the session's input by ids. @throws NotFoundError, UsageError */
export async function findNamedInput(
  client: Client,
  input: CreateSessionInput,
  { sessions, agents }: KnownIds,
): Promise<CreateSessionInput> {
  const of = (known: KnownIds['agents'], find: typeof findSession) => async (texts?: readonly string[] | null) => {
    if (!texts) return undefined
    return Promise.all(
      texts.map((text) => {
        const id = known.get(text) ?? find(client, text)
        known.set(text, id)
        return id
      }),
    )
  }
  const sources = await of(sessions, findSession)(input.inputs?.map(({ from }) => from))
  return {
    ...input,
    ...(sources && { inputs: input.inputs!.map((each, at) => ({ ...each, from: sources[at]! })) }),
    allowAgents: await of(agents, findAgent)(input.allowAgents),
    avoidAgents: await of(agents, findAgent)(input.avoidAgents),
    excludeAgents: await of(agents, findAgent)(input.excludeAgents),
    dependsOn: await of(sessions, findSession)(input.dependsOn),
  }
}
