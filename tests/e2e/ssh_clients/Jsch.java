// SPDX-License-Identifier: MIT
// JSch through the gateway: PORT USER PASSWORD KNOWN-HOSTS.

import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.ChannelSftp;
import com.jcraft.jsch.JSch;
import com.jcraft.jsch.Session;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;

public class Jsch {
    static void wanted(String what, boolean is) {
        if (!is) {
            throw new IllegalStateException(what);
        }
    }

    static int run(Session session, String command, byte[] input, ByteArrayOutputStream out,
                   ByteArrayOutputStream errors) throws Exception {
        ChannelExec channel = (ChannelExec) session.openChannel("exec");
        channel.setCommand(command);
        channel.setInputStream(new ByteArrayInputStream(input));
        channel.setOutputStream(out);
        channel.setErrStream(errors);
        channel.connect(60000);
        for (int i = 0; i < 6000 && !channel.isClosed(); i++) {
            Thread.sleep(10);
        }
        int code = channel.getExitStatus();
        channel.disconnect();
        return code;
    }

    public static void main(String[] arguments) throws Exception {
        JSch jsch = new JSch();
        jsch.setKnownHosts(arguments[3]);
        Session session = jsch.getSession(arguments[1], "127.0.0.1", Integer.parseInt(arguments[0]));
        session.setPassword(arguments[2]);
        session.setConfig("PreferredAuthentications", "password");
        session.connect(60000);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        int code = run(session, "echo out; echo err >&2; exit 7", new byte[0], out, errors);
        wanted("an exit code of 7", code == 7);
        wanted("both outputs", out.toString().equals("out\n") && errors.toString().equals("err\n"));
        byte[] data = new byte[1 << 20];
        Arrays.fill(data, (byte) 'x');
        out.reset();
        wanted("its end", run(session, "cat", data, out, errors) == 0);
        wanted("what was given", Arrays.equals(out.toByteArray(), data));
        ChannelSftp sftp = (ChannelSftp) session.openChannel("sftp");
        sftp.connect(60000);
        wanted("a file", sftp.stat("/etc/passwd").getSize() > 0);
        session.disconnect();
        System.out.println("ok");
    }
}
