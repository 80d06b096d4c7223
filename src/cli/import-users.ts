import type { Command } from 'commander'
import { type Client, ConflictError, type TokenRole } from '../client/node/index.ts'
import { messageOf } from '../observability/error-message.ts'
import { act, describedCommand, takeAll } from './client-command.ts'
import { isEntry, readEntries } from './job/read-jobs.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'
import { future, oneOf } from './options/values.ts'
import type { Output } from './output/output.ts'
import { presentError, UsageError } from './present-error.ts'

/** A user of the file, with its memberships and tokens. */
interface ImportedUser {
  /** Position in the file, for messages. */
  place: string
  user: string
  members: { project: string; role: TokenRole }[]
  tokens: { name: string; role: TokenRole; project: string; expiresAt: string | undefined }[]
}

export function importUsers(): Command {
  const command = describedCommand(
    'import',
    'create users, memberships and tokens from a file; prints each new token on a line: user, name, token',
    ['reprise users import team.yaml > tokens.tsv'],
  ).argument('<path>', 'file of JSON Lines or YAML; `-` is standard input')
  return act(command, async ({ client, out, signal }, _options, [path]) => {
    const found = await readEntries(path!, { source: path!, what: 'users' })
    const users = found.map(({ place, value }) => userOf(value, `${path}:${place}`))
    const known = new Set(
      (await takeAll(client.tokens({ signal }))).flatMap((token) => (isValid(token) ? [keyOf(token)] : [])),
    )
    let status = 0
    for (const each of users) {
      if (signal.aborted) break
      try {
        await importUser(client, out, each, known)
      } catch (error) {
        const { message, code, status: failed } = presentError(error, undefined)
        out.note(`${each.place} ${each.user}: ${message} (${code})`)
        status ||= failed
      }
    }
    return status
  })
}

/** Creates what is not there yet, so that a repeated import changes nothing. */
async function importUser(
  client: Client,
  out: Output,
  { user, members, tokens }: ImportedUser,
  known: Set<string>,
): Promise<void> {
  const created = await client.createUser(user).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ConflictError) return false
      throw error
    },
  )
  for (const { project, role } of members) await client.setProjectMember({ project, user, role })
  const roles = members.map(({ project, role }) => `${role} of ${project}`)
  out.note([`${user}: ${created ? 'created' : 'already existed'}`, ...roles].join(', '))
  for (const { name, role, project, expiresAt } of tokens) {
    const key = keyOf({ name, project: { name: project }, user: { name: user } })
    if (known.has(key)) {
      out.note(`${user}: has a token ${name} of ${project} already`)
      continue
    }
    const { secret, token } = await client.createToken({ name, role, project, user, expiresAt })
    known.add(key)
    out.item({ type: 'token', secret, ...token }, () => [user, name, secret].join('\t'))
  }
}

interface NamedToken {
  name: string
  project: { name: string } | null
  user: { name: string } | null
}

function keyOf({ name, project, user }: NamedToken): string {
  return JSON.stringify([user?.name, project?.name, name])
}

function isValid({ revokedAt, expiresAt }: { revokedAt: string | null; expiresAt: string | null }): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > Date.now())
}

/** Parses an entry: `user`, `projects` with a role for each, and `tokens`. @throws UsageError */
function userOf(value: unknown, place: string): ImportedUser {
  try {
    const { user, projects = {}, tokens = [], ...others } = entryOf(value)
    const [unknown] = Object.keys(others)
    if (unknown !== undefined) throw new Error(`there is no field ${unknown}, but user, projects and tokens`)
    const members = Object.entries(entryOf(projects)).map(([project, role]) => ({ project, role: roleOf(role) }))
    if (!Array.isArray(tokens)) throw new Error('tokens must be a list')
    return { place, user: textOf('user', user), members, tokens: tokens.map((token) => tokenOf(token, members)) }
  } catch (error) {
    throw new UsageError(`${place}: ${messageOf(error)}`)
  }
}

/** Parses a token. Without a project it is for the only one of its user; without a role it has that of its user. */
function tokenOf(value: unknown, members: ImportedUser['members']): ImportedUser['tokens'][number] {
  const { name, project, role, expires, ...others } = entryOf(value)
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new Error(`a token has no field ${unknown}, but name, project, role and expires`)
  const [only, ...more] = members
  if (project === undefined && (only === undefined || more.length > 0))
    throw new Error(`the token ${String(name)} needs a project: its user has ${members.length}`)
  const where = project === undefined ? only!.project : textOf('project', project)
  const member = members.find((each) => each.project === where)
  if (role === undefined && member === undefined)
    throw new Error(`the token ${String(name)} needs a role: projects has none for ${where}`)
  return {
    name: textOf('name', name),
    project: where,
    role: role === undefined ? member!.role : roleOf(role),
    expiresAt: expires === undefined ? undefined : future(textOf('expires', expires)),
  }
}

function entryOf(value: unknown): Readonly<Record<string, unknown>> {
  if (isEntry(value)) return value
  throw new Error(`${JSON.stringify(value)} is not an object`)
}

function textOf(field: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw new Error(`${field} must be a text`)
}

function roleOf(value: unknown): TokenRole {
  return oneOf(String(value), API_ENUMS.TokenRole)
}
