import { Argument, Command } from 'commander'
import { collect, describedCommand, serverOf } from '../client-command.ts'
import { commandTree, isKind, type Kind } from './tree.ts'
import { bashCompletion } from './bash.ts'
import { fishCompletion } from './fish.ts'
import { zshCompletion } from './zsh.ts'
import process from 'node:process'
import { type Client, createClient, profilesPath, readProfiles } from '../../client/node/index.ts'

export function completionCommand(): Command {
  const command = describedCommand('completion', 'print a script that lets a shell complete commands and options', [
    'source <(reprise completion bash)',
    'reprise completion zsh > "${fpath[1]}/_reprise"',
    'reprise completion fish > ~/.config/fish/completions/reprise.fish',
  ])
  command.addArgument(new Argument('<shell>').choices(Object.keys(SHELLS)))
  return command.action((shell: keyof typeof SHELLS) => {
    process.stdout.write(SHELLS[shell](commandTree(command.parent!)))
  })
}

/**
 * Functions that create the script of each shell, for the commands of a program. The script completes `reprise` and
 * `npx reprise`.
 */
export const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }

/** Time limit for a server, short because a person waits at a prompt. */
const ANSWER_WITHIN_MS = 1_500

/**
 * Prints names and ids of a kind with this beginning, one per line, for the scripts of the shells. It prints nothing if
 * no server responds in time. The words of the line may name another server than the usual one.
 */
export function offerCommand(): Command {
  const command = new Command('complete').argument('<kind>').argument('<beginning>').argument('[words...]')
  return command.action(async (kind: string, beginning: string, words: string[]) => {
    const found = isKind(kind) ? await offered(kind, beginning, words).catch(() => []) : []
    process.stdout.write(found.map((text) => `${text}\n`).join(''))
  })
}

async function offered(kind: Kind, beginning: string, words: readonly string[]): Promise<string[]> {
  if (kind === 'profile') return matching(Object.keys(readProfiles(profilesPath(process.env)).profiles), beginning)
  const { urls, token } = serverOf(connectionOf(words))
  await using client = createClient({
    urls: urls.map(({ href }) => href),
    token,
    retry: false,
    timeouts: ANSWER_WITHIN_MS / 1000,
  })
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
  const all = (await LOOKS[kind](client, beginning, signal)).flatMap(({ name, id }) => [
    ...(name ? [name] : []),
    // Ids of objects with names are offered only after the user has typed a character.
    ...(id && (!name || beginning !== '') ? [id] : []),
  ])
  return matching(all, beginning)
}

/** Matches texts that need no quoting; other texts would have to be quoted, differently in each shell. */
const PLAIN = /^[\w@%+.,/-]+$/

function matching(all: readonly string[], beginning: string): string[] {
  return [...new Set(all)].filter((text) => text.startsWith(beginning) && PLAIN.test(text))
}

/** Reads the connection options of a command line; its other options are for its own command. */
function connectionOf(words: readonly string[]): { url?: string[]; token?: string; profile?: string } {
  const reader = new Command().allowUnknownOption().allowExcessArguments().exitOverride()
  reader.option('--url <url>', '', collect).option('--token <token>').option('--profile <profile>')
  return reader
    .configureOutput({ writeErr() {} })
    .parse([...words], { from: 'user' })
    .opts()
}

interface Found {
  name?: string | null
  id?: string
}

type Look = (client: Client, beginning: string, signal: AbortSignal) => Promise<Found[]>

/**
 * Creates a lookup from a query whose lists have the names and ids. `variables` creates its variables from the
 * beginning that the user has typed.
 */
function look(query: string, variables: (beginning: string) => object = () => ({})): Look {
  return async (client, beginning, signal) => {
    const data = await client.request<Record<string, Listed>>(query, { ...variables(beginning) }, { signal })
    return Object.values(data).flatMap((list) => (Array.isArray(list) ? list : list.edges.map(({ node }) => node)))
  }
}

type Listed = Found[] | { edges: { node: Found }[] }

const SESSIONS = look(
  `query ($named: SessionFilter, $newest: [SessionOrder!]) {
    named: sessions(first: 50, filter: $named, orderBy: $newest) { edges { node { id: sessionId name } } }
    newest: sessions(first: 100, orderBy: $newest) { edges { node { id: sessionId name } } }
  }`,
  (beginning) => ({
    newest: [{ field: 'CREATED_AT', direction: 'DESC' }],
    named: /^[0-9a-f]{8}[0-9a-f-]*$/i.test(beginning)
      ? { OR: [{ idPrefix: beginning }, { name: { startsWith: beginning } }] }
      : { name: { startsWith: beginning } },
  }),
)

const LOOKS: Readonly<Record<Exclude<Kind, 'profile'>, Look>> = {
  session: SESSIONS,
  // A chain is named by any of its sessions.
  chain: SESSIONS,
  deployment: look('{ deployments(first: 100) { edges { node { id: deploymentId name } } } }'),
  schedule: look('{ schedules(first: 100) { edges { node { id: scheduleId name } } } }'),
  agent: look('{ agents(first: 100) { edges { node { id: agentId name } } } }'),
  group: look('{ resourceGroups { name } }'),
  project: look('{ projects(first: 100) { edges { node { name } } } }'),
  domain: look('{ domains(first: 100) { edges { node { name } } } }'),
  user: look('{ users(first: 100) { edges { node { name } } } }'),
  token: look('{ tokens(first: 100) { edges { node { id: tokenId name } } } }'),
  webhook: look('{ webhooks(first: 100) { edges { node { id: webhookId } } } }'),
  action: look('{ bulkActions(first: 50) { edges { node { id: bulkActionId } } } }'),
}
