import { allPages, payloadOf } from './answers.ts'
import type { CallOptions, Connection } from './connection/connection.ts'
import {
  AuditLogDocument,
  CreateDomainDocument,
  CreateProjectDocument,
  CreateTokenDocument,
  CreateUserDocument,
  DeleteUserDocument,
  DomainsDocument,
  ProjectsDocument,
  QuotasDocument,
  RemoveProjectMemberDocument,
  RevokeTokenDocument,
  SetProjectMemberDocument,
  SetQuotaDocument,
  TokensDocument,
  UpdateProjectDocument,
  UsersDocument,
  ViewerDocument,
} from './operations.generated.ts'
import type {
  AuditFilter,
  CreateProjectInput,
  CreateTokenInput,
  RemoveProjectMemberInput,
  SetProjectMemberInput,
  SetQuotaInput,
  UpdateProjectInput,
} from './schema-types.generated.ts'

/** Operations for tokens, domains, users, projects, their quotas, and the audit log. */
export function accessOperations({ request }: Connection) {
  return {
    /** Returns the token in use. @throws ForbiddenError if it is not valid */
    async viewer(options?: CallOptions) {
      return (await request(ViewerDocument, {}, options)).viewer
    },

    /** Lists tokens, newest first, including revoked ones; for administrators. @throws ForbiddenError */
    tokens(options: CallOptions & { idPrefix?: string } = {}) {
      const { idPrefix } = options
      // The server returns null only together with an error, which is thrown.
      return allPages(async (page) => (await request(TokensDocument, { idPrefix, ...page }, options)).tokens!)
    },

    /**
     * Lists the audit log, newest first; for administrators. The administrators of a project get the entries about that
     * project. @throws ForbiddenError
     */
    auditLog(filter?: AuditFilter, options?: CallOptions) {
      // The server returns null only together with an error, which is thrown.
      return allPages(async (page) => (await request(AuditLogDocument, { ...page, filter }, options)).auditLog!)
    },

    /**
     * Creates a token. `secret` is the token itself, returned only once. @throws ValidationError, NotFoundError,
     * ForbiddenError
     */
    async createToken(input: CreateTokenInput, options?: CallOptions) {
      const { secret, token } = payloadOf((await request(CreateTokenDocument, { input }, options)).createToken)
      return { secret, token }
    },

    /** Revokes a token. Safe to repeat: a revoked token stays revoked. @throws NotFoundError, ForbiddenError */
    async revokeToken(tokenId: string, options?: CallOptions) {
      const data = await request(RevokeTokenDocument, { input: { tokenId } }, { ...options, idempotent: true })
      return payloadOf(data.revokeToken).token
    },

    domains(options?: CallOptions) {
      return allPages(async (page) => (await request(DomainsDocument, page, options)).domains)
    },

    /** @throws ValidationError, ConflictError, ForbiddenError */
    async createDomain(name: string, options?: CallOptions) {
      return payloadOf((await request(CreateDomainDocument, { input: { name } }, options)).createDomain).domain
    },

    users(options?: CallOptions) {
      // The server returns null only together with an error, which is thrown.
      return allPages(async (page) => (await request(UsersDocument, page, options)).users)
    },

    /** @throws ValidationError, ConflictError, ForbiddenError */
    async createUser(name: string, options?: CallOptions) {
      return payloadOf((await request(CreateUserDocument, { input: { name } }, options)).createUser).user
    },

    /** Deletes a user and revokes its tokens; its sessions stay. @throws NotFoundError, ForbiddenError */
    async deleteUser(name: string, options?: CallOptions) {
      payloadOf((await request(DeleteUserDocument, { input: { name } }, options)).deleteUser)
    },

    projects(options?: CallOptions) {
      return allPages(async (page) => (await request(ProjectsDocument, page, options)).projects)
    },

    /** @throws ValidationError, NotFoundError, ConflictError, ForbiddenError */
    async createProject(input: CreateProjectInput, options?: CallOptions) {
      return payloadOf((await request(CreateProjectDocument, { input }, options)).createProject).project
    },

    /** @throws NotFoundError, ForbiddenError */
    async updateProject(input: UpdateProjectInput, options?: CallOptions) {
      const data = await request(UpdateProjectDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.updateProject).project
    },

    /** Adds a user to a project, or changes the role there. @throws NotFoundError, ForbiddenError */
    async setProjectMember(input: SetProjectMemberInput, options?: CallOptions) {
      return payloadOf((await request(SetProjectMemberDocument, { input }, options)).setProjectMember).project
    },

    /** @throws NotFoundError, ForbiddenError */
    async removeProjectMember(input: RemoveProjectMemberInput, options?: CallOptions) {
      payloadOf((await request(RemoveProjectMemberDocument, { input }, options)).removeProjectMember)
    },

    /** Lists quotas: limits and their use. */
    async quotas(options?: CallOptions) {
      return (await request(QuotasDocument, {}, options)).quotas
    },

    /** @throws ValidationError, NotFoundError, ForbiddenError */
    async setQuota(input: SetQuotaInput, options?: CallOptions) {
      return payloadOf((await request(SetQuotaDocument, { input }, options)).setQuota).quota
    },
  }
}
