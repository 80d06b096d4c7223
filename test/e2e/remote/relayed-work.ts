import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type RemoteFleet, textOf } from './remote-fleet.ts'

/** New attempts go to this agent, and to no other. */
export async function workGoesTo(fleet: RemoteFleet, name: string): Promise<void> {
  const { agents } = await fleet.graphql('{ agents { edges { node { agentId name } } } }')
  const nodes: { agentId: string; name: string }[] = agents.edges.map(({ node }: any) => node)
  const change = async (mutation: string, which: typeof nodes) => {
    for (const { agentId } of which) {
      const { done } = await fleet.graphql(mutation, { agentId })
      if (done.message !== undefined) throw new Error(done.message)
    }
  }
  await change(
    DRAIN,
    nodes.filter((node) => node.name !== name),
  )
  await change(
    RESUME,
    nodes.filter((node) => node.name === name),
  )
}
const DRAIN = `mutation ($agentId: UUID!) { done: drainAgent(input: { agentId: $agentId }) { ... on Error { message } } }`
const RESUME = DRAIN.replace('drainAgent', 'resumeAgent')

/** Says what it finds, and whether all of it is whole; when it is let, leaves something else, and fails twice. */
const PROGRAM = `cd "$REPRISE_CHAIN_DIR"
sha256sum --quiet -c sums >/dev/null 2>&1 && whole=whole
echo "$REPRISE_CHECKPOINT$REPRISE_CHECKPOINT_ATTEMPT: $(cat attempt 2>/dev/null) $whole"
echo $REPRISE_ATTEMPT >>NOTES/runs
test $REPRISE_ATTEMPT = 3 && exit
while [ ! -e NOTES/gate$REPRISE_ATTEMPT ]; do sleep 0.05; done
rm -f sums
for file in a b; do head -c BYTES /dev/urandom >$file; done
echo $REPRISE_ATTEMPT >attempt
sha256sum a b attempt >sums
exit 3`

/**
 * A chain of three attempts, each of which goes on with what the one before has left.
 *
 * @param bytes of each of its two large files
 */
export async function beginWork(fleet: RemoteFleet, bytes = 3_000_000) {
  const own = await temporaryDirectory('work')
  const retryPolicy = { maxRetries: 2, retryDelay: 0.1 }
  const command = ['sh', '-c', PROGRAM.replaceAll('NOTES', own).replace('BYTES', String(bytes))]
  const chainId = await fleet.createSession({ command, retryPolicy })
  const has = (status: string, attempt: number) =>
    fleet.until(chainId, (chain) => chain[attempt - 1]?.status === status).then(() => undefined)
  const runs = () =>
    existsSync(join(own, 'runs')) ? readFileSync(join(own, 'runs'), 'utf8').split('\n').slice(0, -1) : []
  return {
    chainId,
    has,
    runs,
    /** The attempt runs; it is let, and its retry goes to this agent. */
    async letGo(attempt: number, next: string) {
      await eventually(() => runs().includes(String(attempt)))
      await workGoesTo(fleet, next)
      writeFileSync(join(own, `gate${attempt}`), '')
    },
  }
}
export type Work = Awaited<ReturnType<typeof beginWork>>

/** Says who it is and what it finds, and leaves files that nobody else may read; changes and removes what it finds. */
const SECRETIVE = `cd "$REPRISE_CHAIN_DIR" || exit 9
umask 077
echo "$REPRISE_CHECKPOINT: $(id -u) $(stat -c %u .) $(cat secret deep/secret 2>/dev/null | tr '\\n' ' ')$(./tool 2>/dev/null)"
mkdir -p deep || exit 9
echo $REPRISE_ATTEMPT >>secret || exit 9
echo $REPRISE_ATTEMPT >>deep/secret || exit 9
rm -f tool || exit 9
printf '#!/bin/sh\\necho tool of %s\\n' $REPRISE_ATTEMPT >tool && chmod 700 tool && ln -sf deep/secret link || exit 9
test $REPRISE_ATTEMPT = LAST || exit 3`

/** A chain of a session that `create` makes, whose attempts run on these agents, one after the other. */
export async function workOn(
  fleet: RemoteFleet,
  agents: readonly string[],
  create: (retryPolicy: object) => Promise<string>,
  withinMs?: number,
) {
  await workGoesTo(fleet, agents[0]!)
  // Images that were loaded by hand are others on each machine.
  const chainId = await create({ maxRetries: agents.length - 1, retryDelay: 3600, pinImage: false })
  for (const [index, next] of agents.slice(1).entries()) {
    await fleet.until(chainId, (chain) => chain[index]?.retryState.phase === 'SCHEDULED', withinMs)
    await workGoesTo(fleet, next)
    const [tail] = await fleet.sql(`SELECT tail_id FROM chains WHERE chain_id = '${chainId}'`)
    await fleet.graphql(RETRY_NOW, { input: { sessionId: tail!['tail_id'] } })
  }
  const chain = await fleet.until(chainId, (all) => all[agents.length - 1]?.status === 'TERMINATED', withinMs)
  expect(chain.map(({ kernels }) => kernels[0]!.agent!.name)).toEqual(agents)
  return { chainId, said: chain.map(textOf) }
}

const RETRY_NOW = 'mutation ($input: RetryNowInput!) { retryNow(input: $input) { __typename } }'

/** On these agents: each attempt finds, reads, changes and removes what the one before has left, as its own. */
export async function expectOwnFiles(fleet: RemoteFleet, agents: readonly string[], withinMs?: number) {
  const command = ['sh', '-c', SECRETIVE.replace('LAST', String(agents.length))]
  const create = (retryPolicy: object) => fleet.createSession({ command, retryPolicy })
  const { chainId, said } = await workOn(fleet, agents, create, withinMs)
  const lines = said.map((text) => /^(\w+): (\d+) (\d+) (.*)$/m.exec(text)!.slice(1))
  const written = (index: number) => agents.slice(0, index).map((_, before) => before + 1)
  expect(lines.map(([found, , , content]) => `${found} ${content}`)).toEqual(
    agents.map((_, index) =>
      index === 0 ? 'none ' : `fetched ${[...written(index), ...written(index)].join(' ')} tool of ${index}`,
    ),
  )
  expect(lines.map(([, uid, owner]) => uid === owner)).toEqual(agents.map(() => true))
  return { chainId, uids: lines.map(([, uid]) => Number(uid)) }
}

/**
 * What it finds, and whether that is whole; then what the first attempt does: `save N` writes step N and renames it,
 * `publish` has it sent and waits for that.
 */
export const publishing = (work: string) => `cd "$REPRISE_CHAIN_DIR"
(cd latest && sha256sum -c sums) >/dev/null 2>&1 && whole=whole
echo "$REPRISE_CHECKPOINT$REPRISE_CHECKPOINT_ATTEMPT: $(cat latest/step 2>/dev/null) $whole"
test $REPRISE_ATTEMPT = 1 || exit 0
save() { mkdir step$1; head -c 300000 /dev/urandom >step$1/a; echo $1 >step$1/step
  (cd step$1 && sha256sum a step >sums); ln -s step$1 new; mv -T new latest; rm -rf step$(($1 - 1)); }
publish() { : >.publish; while [ -e .publish ]; do sleep 0.05; done; }
${work}`

/** The servers know what this attempt has left, whether or not they have a copy. */
export async function leftOnRecord(fleet: RemoteFleet, chainId: string, attempt: number): Promise<void> {
  await eventually(
    async () =>
      (await fleet.sql(`SELECT FROM checkpoints WHERE chain_id = '${chainId}' AND attempt = ${attempt}`)).length === 1,
  )
}

/** Directory in which a server keeps copies by default. */
export const checkpointDirOf = (fleet: RemoteFleet) => join(fleet.agentDir('server'), '../checkpoints')

/** The blobs in the directory of a server: all copies, of all chains. */
export function copiesIn(checkpointDir: string) {
  const paths = () =>
    readdirSync(join(checkpointDir, 'blobs'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
  return {
    partBytes: () =>
      paths()
        .filter((path) => path.endsWith('.part'))
        .map((path) => statSync(path).size),
    /** Checks that every file with the name of a blob is that blob. @returns their hashes */
    expectWhole(): string[] {
      return paths()
        .filter((path) => !path.endsWith('.part'))
        .map((path) => {
          const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
          expect(basename(path)).toBe(sha256)
          return sha256
        })
    },
  }
}

/** Returns the unfinished files that an agent fetches or sends. */
export function draftsOf(fleet: RemoteFleet, name: string): string[] {
  return readdirSync(join(fleet.agentDir(name), 'chains')).filter((each) => /^\.(new|snap)-/.test(each))
}
