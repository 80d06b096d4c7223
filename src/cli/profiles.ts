import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { Command } from 'commander'
import { createClient, profilesPath, readProfiles, writeProfiles, type Profile } from '../client/node/index.ts'
import { actHere, collect, describedCommand, serverOf } from './client-command.ts'
import { tokenScope } from './output/format.ts'
import { UsageError } from './present-error.ts'

interface LoginOptions {
  url?: string[]
  token?: string
  name: string
  check: boolean
}

export function loginCommand(): Command {
  const command = describedCommand('login', 'store a server and its token in a profile that only this user can read', [
    'reprise login --url https://reprise.example.com    # asks for the token',
    'reprise login --name lab --url https://one.lab --url https://two.lab < token-file',
  ])
    .option('--url <url>', 'server; may be repeated for several on one database', collect)
    .option('--token <token>', 'token; other users of this machine can then see it (default: asks for it)')
    .option('--name <name>', 'name of the profile', 'default')
    .option('--no-check', 'do not check with the server that the token is valid')
  return actHere<LoginOptions>(command, async (out, { url, token: given, name, check }) => {
    const urls = url ?? serverOf({ url }).urls.map(({ href }) => href)
    const token = given ?? (await askForToken())
    if (token === '') throw new UsageError('No token was given.')
    const whole: Profile = { urls: serverOf({ url: urls, token }).urls.map(({ href }) => href), token }
    if (check) {
      await using client = createClient({ ...whole, retry: { network: { stopAfterSeconds: 3 } } })
      const viewer = await client.viewer()
      if (viewer) out.note(`${viewer.name}: ${viewer.role} of ${tokenScope(viewer)}`)
    }
    const path = profilesPath(process.env)
    const { profiles } = readProfiles(path)
    writeProfiles(path, { current: name, profiles: { ...profiles, [name]: whole } })
    out.show({ name, urls: whole.urls, path }, () => `stored as ${name} in ${path}, which is now the default`)
  })
}

export function profilesCommand(): Command {
  return new Command('profiles')
    .description('servers and tokens stored by `login`')
    .addCommand(list(), { isDefault: true })
    .addCommand(use())
    .addCommand(remove())
}

function list(): Command {
  const command = describedCommand('list', 'list profiles; * marks the one in use', ['reprise profiles'])
  return actHere(command, async (out) => {
    const { current, profiles } = readProfiles(profilesPath(process.env))
    const rows = Object.entries(profiles).map(([name, { urls, token }]) => ({
      name,
      current: name === current,
      urls,
      token: token === undefined ? null : `${token.slice(0, 8)}…`,
    }))
    await out.table(
      rows,
      [
        { title: '', value: (row) => (row.current ? '*' : ' ') },
        { title: 'PROFILE', value: (row) => row.name },
        { title: 'SERVERS', value: (row) => row.urls.join(' '), flexible: true },
        { title: 'TOKEN', value: (row) => row.token },
      ],
      'no profiles: `reprise login` stores one',
    )
  })
}

function use(): Command {
  const command = describedCommand('use', 'use this profile by default', ['reprise profiles use lab'])
  return actHere(command.argument('<profile>'), async (out, _options, [name]) => {
    const path = profilesPath(process.env)
    const kept = readProfiles(path)
    mustExist(kept.profiles, name!)
    writeProfiles(path, { ...kept, current: name! })
    out.show({ current: name }, () => `${name} is now the default`)
  })
}

function remove(): Command {
  const command = describedCommand('remove', 'remove a profile; its token stays valid', ['reprise profiles remove lab'])
  return actHere(command.argument('<profile>'), async (out, _options, [name]) => {
    const path = profilesPath(process.env)
    const { current, profiles } = readProfiles(path)
    mustExist(profiles, name!)
    const { [name!]: _gone, ...rest } = profiles
    writeProfiles(path, { ...(current !== name && { current }), profiles: rest })
    out.show({ removed: name }, () => `${name}: removed`)
  })
}

function mustExist(profiles: Readonly<Record<string, Profile>>, name: string): void {
  if (Object.hasOwn(profiles, name)) return
  throw new UsageError(`There is no profile ${name}. Existing profiles: ${Object.keys(profiles).join(', ') || 'none'}.`)
}

/** Reads a token without echo from a terminal, otherwise one line of standard input. */
async function askForToken(): Promise<string> {
  const { stdin, stderr } = process
  const lines = createInterface({ input: stdin, terminal: stdin.isTTY })
  try {
    if (stdin.isTTY) stderr.write('token: ')
    for await (const line of lines) return line.trim()
    return ''
  } finally {
    lines.close()
    if (stdin.isTTY) stderr.write('\n')
  }
}
