import { NotFoundError, type Client } from '../../client/node/index.ts'

export type Group = Awaited<ReturnType<Client['resourceGroups']>>[number]

/** @throws NotFoundError */
export async function findGroup(client: Client, name: string, signal: AbortSignal): Promise<Group> {
  const found = (await client.resourceGroups({ signal })).find((group) => group.name === name)
  if (found) return found
  throw new NotFoundError('RESOURCE_GROUP_NOT_FOUND', `There is no resource group ${name}.`)
}
